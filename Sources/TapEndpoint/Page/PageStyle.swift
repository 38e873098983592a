/// The style of the page at `/`: light and dark by the reader's setting, from a phone's width up.
enum PageStyle {
  static let text = #"""
    :root {
      color-scheme: light dark;
      --back: #f6f6f4; --card: #ffffff; --text: #1c1c1a; --soft: #5c5c57; --line: #dcdcd6;
      --one: #0b63c5; --two: #8a5a00; --three: #b3261e;
      --resolve: #7b2c52; --connect: #dd5a07; --tls: #260905; --processing: #003ace; --transfer: #02a2b8;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --back: #161615; --card: #20201e; --text: #eeeeea; --soft: #a9a9a2; --line: #3a3a36;
        --one: #7cb8ff; --two: #f0b94d; --three: #ff8f85;
        --resolve: #f26ba4; --connect: #ffd43e; --tls: #9d5e13; --processing: #1c5eff; --transfer: #90f2ff;
      }
    }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--back); color: var(--text);
      font: 1rem/1.45 system-ui, sans-serif; }
    header, form, .row { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; }
    form { min-width: 0; max-width: 100%; }
    h1 { font-size: 1.25rem; margin: 0; }
    h2 { font-size: 1rem; font-weight: 600; margin: 1.5rem 0 .5rem; }
    label { color: var(--soft); display: flex; gap: .5rem; align-items: center; max-width: 100%; }
    select, button { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--soft);
      border-radius: .4rem; padding: .3rem .7rem; min-height: 2.5rem; min-width: 0; max-width: 16rem; }
    button { cursor: pointer; }
    button[aria-pressed=true] { background: var(--text); color: var(--back); }
    :focus-visible { outline: 3px solid var(--one); outline-offset: 2px; }
    #status { margin: 0; color: var(--soft); }
    #status.failed { color: var(--three); font-weight: 600; }
    dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 10rem), 1fr)); gap: .75rem; margin: 0; }
    dl div, figure, .scroll, details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
    dt { color: var(--soft); font-size: .85rem; }
    dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    [hidden] { display: none; }
    .sides, .side { display: grid; gap: .75rem; align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
    .side { min-width: 0; }
    .side[hidden] { display: none; }
    .note { color: var(--soft); font-size: .85rem; margin: .5rem 0; }
    figure { margin: 0; min-width: 0; }
    figcaption { font-size: .9rem; color: var(--soft); display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
    .now { font-variant-numeric: tabular-nums; display: flex; flex-wrap: wrap; gap: 0 1rem; }
    b { color: var(--text); font-weight: 600; }
    .key::before { content: ""; display: inline-block; width: 1.4rem; margin-right: .4rem; vertical-align: middle;
      border-top: 3px solid var(--one); }
    .key.two::before { border-top: 3px dashed var(--two); }
    .key.three::before { border-top: 3px dotted var(--three); }
    .plot { display: grid; grid-template-columns: 3.6rem minmax(0, 1fr); gap: .25rem .5rem; margin-top: .5rem; }
    .scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; }
    .scale, .times { font-size: .75rem; line-height: 1; color: var(--soft); font-variant-numeric: tabular-nums; white-space: nowrap; }
    .times { grid-column: 2; display: flex; justify-content: space-between; }
    svg, canvas { display: block; width: 100%; height: 8.5rem; border: solid var(--line); border-width: 0 0 1px 1px; }
    svg { background: linear-gradient(var(--line) 1px, transparent 1px) 0 0 / 100% 50%; }
    canvas { color: var(--one); }
    path { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; vector-effect: non-scaling-stroke; stroke: var(--one); }
    path.two { stroke: var(--two); stroke-dasharray: 7 4; }
    path.three { stroke: var(--three); stroke-dasharray: 1 4; stroke-width: 2.5; }
    .queue { --phase: repeating-linear-gradient(45deg, var(--soft) 0 2px, transparent 2px 5px); }
    .resolve { --phase: var(--resolve); }
    .connect { --phase: var(--connect); }
    .tls { --phase: var(--tls); }
    .processing { --phase: var(--processing); }
    .transfer { --phase: var(--transfer); }
    .upload { --phase: repeating-linear-gradient(90deg, var(--transfer) 0 3px, transparent 3px 6px); }
    .local { --phase: repeating-linear-gradient(-45deg, var(--text) 0 3px, transparent 3px 6px); }
    .unknown { --phase: transparent; }
    .legend, .bar + p { display: flex; flex-wrap: wrap; gap: 0 1rem; }
    .phase::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.05rem;
      background: var(--phase); border: 1px solid var(--soft); }
    #phases { list-style: none; margin: 0; padding: 0; }
    #phases li { margin-top: .9rem; }
    #phases p { margin: 0; font-size: .85rem; color: var(--soft); font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    #phases p:first-child { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .9rem; }
    .bar { display: flex; gap: 1px; height: 1.1rem; margin: .2rem 0; border: 1px solid var(--soft); }
    .bar span { flex: 0 1 0; min-width: 0; background: var(--phase); }
    .scroll { overflow-x: auto; }
    details { margin-top: .75rem; }
    details .scroll { border: 0; padding: .25rem; }
    summary { cursor: pointer; color: var(--soft); }
    table { width: 100%; border-collapse: collapse; font-size: .9rem; }
    caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
    th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
    th:last-child, td:last-child { padding-right: 0; }
    tbody tr:last-child td { border-bottom: 0; }
    td { min-width: 8.5rem; overflow-wrap: anywhere; }
    #slowest td:first-child { min-width: 5rem; }
    #log td, #trace td { min-width: 0; }
    #log td:nth-child(4) { min-width: 6rem; }
    #log td:nth-child(5), #trace td:nth-child(4) { min-width: 14rem; }
    #log td:first-child, #log td:nth-child(3), #log td:last-child, #trace td:nth-child(3) { white-space: nowrap; }
    #log .traced { cursor: pointer; }
    .row { margin-top: 1.5rem; }
    .row h2 { margin: 0; }
    #trace-id { overflow-wrap: anywhere; }
    .trace { min-height: 0; padding: .1rem .5rem; font-size: .8rem; font-variant-numeric: tabular-nums; }
    .track { position: relative; height: .8rem; min-width: 10rem; margin-top: .3rem; border-bottom: 1px solid var(--line); }
    .track span { position: absolute; height: 100%; min-width: 2px; max-width: 100%; background: var(--one); }
    th { color: var(--soft); font-weight: 500; white-space: nowrap; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; }
    .none { color: var(--soft); }
    tr.WARN td:nth-child(2) { color: var(--two); }
    tr.ERROR td:nth-child(2) { color: var(--three); }
    footer { margin-top: 1.5rem; display: flex; gap: 1rem; }
    a { color: var(--one); }

    """#
}
