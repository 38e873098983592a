/// The document of the page at `/`: what is there before the first scrape. `NONCE` stands for the value that
/// lets this page's own style and script run, and nothing else.
enum PageMarkup {
  static let head = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <link rel="icon" href="data:,">
    <title>SessionTap</title>
    <style nonce="NONCE">
    """#

  static let body = #"""
    </style>
    </head>
    <body>
    <header>
      <h1>SessionTap</h1>
      <form id="filters" aria-label="Filters">
        <label>Client <select id="client"><option value="">all</option></select></label>
        <label>Host <select id="host"><option value="">all</option></select></label>
        <button type="button" id="pause" aria-pressed="false">Pause</button>
      </form>
      <p id="status" role="status">Waiting for the first scrape…</p>
    </header>
    <main>
      <section class="figures" aria-label="Since the start of the process">
        <dl>
          <div><dt>Requests</dt><dd id="requests">–</dd></div>
          <div><dt>Errors</dt><dd id="errors">–</dd></div>
          <div><dt>In flight</dt><dd id="active">–</dd></div>
          <div><dt>p50</dt><dd id="p50">–</dd></div>
          <div><dt>p90</dt><dd id="p90">–</dd></div>
          <div><dt>p99</dt><dd id="p99">–</dd></div>
        </dl>
      </section>
      <section class="charts" aria-label="Over the last minutes">
        <figure><figcaption>Requests per second <output id="rate-now"></output></figcaption>
          <svg id="rate" role="img" viewBox="0 0 600 140" preserveAspectRatio="none"></svg></figure>
        <figure><figcaption>Share of errors <output id="share-now"></output></figcaption>
          <svg id="share" role="img" viewBox="0 0 600 140" preserveAspectRatio="none"></svg></figure>
        <figure><figcaption>Latency: p50, p90, p99 <output id="latency-now"></output></figcaption>
          <svg id="latency" role="img" viewBox="0 0 600 140" preserveAspectRatio="none"></svg></figure>
        <figure><figcaption>Latency, requests by bucket <output id="heat-now"></output></figcaption>
          <svg id="heat" role="img" viewBox="0 0 600 140" preserveAspectRatio="none"></svg></figure>
      </section>
      <section>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="slowest-caption">
        <table><caption id="slowest-caption">Slowest, by p99 since the start</caption>
          <thead><tr><th scope="col">Client</th><th scope="col">Method</th><th scope="col">Host</th>
            <th scope="col">Template</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Errors</th>
            <th scope="col" class="number">Mean</th><th scope="col" class="number">p99</th></tr></thead>
          <tbody id="slowest"></tbody></table></div>
      </section>
      <section id="log-section" hidden>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="log-caption">
        <table><caption id="log-caption">The last log lines</caption>
          <thead><tr><th scope="col">Time</th><th scope="col">Severity</th><th scope="col">Client</th>
            <th scope="col">Request</th><th scope="col" class="number">Status</th><th scope="col" class="number">Duration</th></tr></thead>
          <tbody id="log"></tbody></table></div>
      </section>
    </main>
    <footer><a href="/metrics">/metrics</a> <a href="/healthz">/healthz</a></footer>
    <script nonce="NONCE">
    """#

  static let tail = #"""
    </script>
    </body>
    </html>

    """#
}
