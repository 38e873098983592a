/// The style of the page at `/`: light and dark by the reader's setting, from a phone's width up.
enum PageStyle {
  static let text = #"""
    :root {
      color-scheme: light dark;
      --back: #fbfbfa; --card: #ffffff; --text: #1c1c1a; --soft: #5c5c57; --line: #dcdcd6;
      --one: #0b63c5; --two: #8a5a00; --three: #b3261e;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --back: #161615; --card: #20201e; --text: #eeeeea; --soft: #a9a9a2; --line: #3a3a36;
        --one: #7cb8ff; --two: #f0b94d; --three: #ff8f85;
      }
    }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--text);
      font: 1rem/1.5 system-ui, sans-serif; }
    header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: baseline; }
    h1 { font-size: 1.25rem; margin: 0; }
    form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
    label { color: var(--soft); }
    select, button { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line);
      border-radius: .4rem; padding: .3rem .6rem; min-height: 2.2rem; max-width: 60vw; }
    :focus-visible { outline: 3px solid var(--one); outline-offset: 2px; }
    #status { margin: 0; color: var(--soft); }
    #status.failed { color: var(--three); font-weight: 600; }
    section { margin-top: 1rem; }
    dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .75rem; margin: 0; }
    dl div, figure { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
    dt { color: var(--soft); font-size: .85rem; }
    dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
    .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: .75rem; }
    figure { margin: 0; }
    figcaption { font-size: .85rem; color: var(--soft); display: flex; justify-content: space-between; gap: .5rem; }
    output { color: var(--text); font-variant-numeric: tabular-nums; }
    svg { display: block; width: 100%; height: 8.75rem; margin-top: .4rem; }
    polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke: var(--one); }
    polyline.two { stroke: var(--two); stroke-dasharray: 6 3; }
    polyline.three { stroke: var(--three); stroke-dasharray: 2 3; }
    rect { fill: var(--one); }
    .scroll { overflow-x: auto; }
    table { width: 100%; border-collapse: collapse; font-size: .9rem; }
    caption { text-align: left; color: var(--soft); padding: .3rem 0; }
    th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
    td { overflow-wrap: anywhere; }
    th { color: var(--soft); font-weight: 500; white-space: nowrap; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    tr.WARN td:nth-child(2) { color: var(--two); }
    tr.ERROR td:nth-child(2) { color: var(--three); }
    footer { margin-top: 1.5rem; }
    a { color: var(--one); }

    """#
}
