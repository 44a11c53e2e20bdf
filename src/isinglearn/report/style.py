"""The style sheet of a report's page: small screens and large ones, light and dark."""

# White behind pictures in the dark as well: they are drawn for paper.
STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6472; --page: #fbfbfa; --card: #fff;
  --line: #dfe3e8; --accent: #2166ac; --good: #1b7f4b; --bad: #b3401d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2acb9; --page: #14181e;
  --card: #1c222b; --line: #343d49; --accent: #7db8ee; --good: #5fcf96; --bad: #ff9a76; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 0 auto; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .3rem 0 0; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--accent); }
.soft, figcaption, dt { color: var(--soft); font-size: .92rem; }
nav { margin: 1rem 0; font-size: .92rem; }
nav a { margin-right: .9rem; display: inline-block; }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid
  var(--accent); border-radius: .4rem; padding: .8rem 1rem; margin: 1rem 0; }
.verdict p { margin: 0; max-width: none; font-size: 1.06rem; }
.verdict p + p { margin-top: .4rem; }
.verdict p:first-child { font-weight: 600; }
.verdict.good { border-left-color: var(--good); }
.verdict.bad { border-left-color: var(--bad); }
.cards { display: grid; gap: .7rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(8.6rem, 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .6rem .8rem; font-size: .94rem; line-height: 1.35; }
.card b { display: block; font-size: 1.3rem; line-height: 1.5; }
.facts { display: grid; gap: 0 1.6rem; margin: .6rem 0 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17.5rem), 1fr)); }
.facts div { display: flex; justify-content: space-between; gap: 1rem; padding: .3rem 0;
  border-bottom: 1px solid var(--line); }
.facts .wide { grid-column: 1 / -1; justify-content: flex-start; }
.facts .wide dt { min-width: 5rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: .6rem 0 1rem; }
table { border-collapse: collapse; font-size: .94rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .35rem 1.6rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; }
tr > :last-child { padding-right: .2rem; }
td.prose { min-width: 11rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem .9rem; overflow-x: auto; font-size: .86rem; }
.pictures { columns: 2 24rem; column-gap: 1rem; margin: 1rem 0; }
figure { margin: 0 0 1rem; break-inside: avoid; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; padding: .8rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: .3rem; }
figcaption { margin-top: .5rem; }
@media (max-width: 30rem) { body { padding: .8rem; } th, td { padding-right: .9rem; } }
@media print { nav { display: none; } }
"""
