"""The looks of the page: light and dark, narrow and wide, screen and paper."""

from __future__ import annotations

STYLE = """
:root {
  --paper: #ffffff; --ink: #1d1f21; --pale: #5a6068; --line: #d9dce0; --tint: #f4f5f7;
  --link: #0b5cad; --yes: #0a6b3d; --mostly: #8a5a00; --no: #a8201a; --open: #5a6068;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181b; --ink: #e7e9ec; --pale: #a4abb4; --line: #383d44; --tint: #20242a;
    --link: #7db7f2; --yes: #6fd39f; --mostly: #f0c060; --no: #ff9a90; --open: #a4abb4;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; }
h2 { border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p, ul { max-width: 48rem; }
a { color: var(--link); }
li { margin: .35rem 0; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .92em; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 0 0 1.2rem; font-size: .92rem; }
.notice { border-left: 4px solid var(--mostly); background: var(--tint); padding: .6rem .9rem; }
.note { color: var(--pale); font-size: .86rem; margin: .35rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
table { font-variant-numeric: tabular-nums; }
th, td { padding: .34rem .65rem; text-align: left; vertical-align: top; }
th, td { border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--tint); white-space: nowrap; }
th.number, td.number { text-align: right; white-space: nowrap; }
tbody th { font-weight: 600; min-width: 6.5rem; }
tbody th { position: sticky; left: 0; background: var(--paper); }
tr.published td, tr.difference td { color: var(--pale); }
tr.published th, tr.difference th { color: var(--pale); font-weight: 400; }
tr.published th, tr.published td, tr.difference th, tr.difference td { border-top-style: dotted; }
tr.difference td { font-style: italic; }
.verdicts tbody th { min-width: 3.6rem; white-space: nowrap; }
.verdicts td:nth-child(3) { min-width: 13rem; }
.badge {
  display: inline-block; white-space: nowrap; font-size: .8rem; font-weight: 600;
  padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem;
}
.yes { color: var(--yes); } .mostly { color: var(--mostly); }
.no { color: var(--no); } .open { color: var(--open); }
article { border: 1px solid var(--line); border-radius: 6px; }
article { padding: .2rem .9rem; margin: .7rem 0; }
article h3 { margin: .6rem 0 .2rem; }
article p { margin: .3rem 0 .6rem; max-width: none; }
figure { margin: 1.2rem 0; }
.panels { display: grid; gap: .8rem; }
.panels { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.panels img { width: 100%; max-width: 34rem; height: auto; background: #fff; border-radius: 6px; }
figcaption { color: var(--pale); font-size: .9rem; margin-top: .5rem; max-width: 48rem; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  main { padding: 1rem .8rem 3rem; } h1 { font-size: 1.5rem; }
  table { font-size: .82rem; } th, td { padding: .3rem .5rem; }
  .verdicts thead { display: none; }
  .verdicts tr { display: block; padding: .35rem .3rem; border-top: 1px solid var(--line); }
  .verdicts th, .verdicts td { display: block; border: 0; padding: .1rem .4rem; }
  .verdicts th, .verdicts td:nth-child(2) { display: inline-block; min-width: 0; }
  .verdicts td.fails::before { content: "fails at: "; color: var(--pale); }
  .verdicts td.none { display: none; }
}
@media print {
  :root {
    --paper: #fff; --ink: #000; --pale: #444; --line: #bbb; --tint: #f2f2f2; --link: #000;
    --yes: #000; --mostly: #000; --no: #000; --open: #000;
  }
  body { font-size: 10pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .scroll { overflow: visible; border: 0; } table { font-size: 7.5pt; }
  th, td { padding: .12rem .3rem; } tbody th { position: static; min-width: 0; }
  figure, article, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .panels { grid-template-columns: repeat(2, 1fr); }
}
"""
