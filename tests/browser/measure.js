// Appended to a copy of the report: measures the copy as it is laid out, and tells the page around it, a line a finding.
'use strict';
const said = [];
const wrong = text => said.push('WRONG at ' + innerWidth + ': ' + text);
const root = document.scrollingElement;
const charts = [...document.querySelectorAll('svg')];
const SLACK = 1; // pixels: rounding, and what a letter's box has around it

// What is folded is looked at, too.
for (const folded of document.querySelectorAll('details')) folded.open = true;

if (root.scrollWidth > innerWidth) wrong('the page is ' + root.scrollWidth + ' wide');

const fetched = performance.getEntriesByType('resource').map(entry => entry.name);
if (fetched.length) wrong('it fetches ' + fetched.join(' '));
if (document.querySelectorAll('script').length > 1) wrong('it has a script of its own');

// Each case has its figures as bars and by round; latencies where there are any.
const groups = [...document.querySelectorAll('.charts')];
const cases = Number(new URLSearchParams(location.search).get('cases'));
if (!(cases > 0) || groups.length !== cases) wrong(groups.length + ' cases with charts of ' + cases);
for (const group of groups) {
  const count = group.querySelectorAll('svg').length;
  if (count < 2) wrong(count + ' charts at ' + group.closest('section').querySelector('h2').textContent);
}

function box(text) {
  const {x, y, width, height} = text.getBBox();
  // A line's box is higher than its letters: 14 for 12.
  return {text: text.textContent, left: x, right: x + width, top: y + height * 0.15, bottom: y + height * 0.85};
}

const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK;

for (const chart of charts) {
  const name = chart.querySelector('title').textContent;
  const {x, y, width, height} = chart.viewBox.baseVal;
  const boxes = [...chart.querySelectorAll('text')].map(box);
  if (chart.getBoundingClientRect().width < 200) wrong(name + ': too small to see');
  for (const one of boxes) {
    if (!(one.right > one.left)) wrong(name + ': no letters in "' + one.text + '"');
    const isInside = one.left >= x - SLACK && one.right <= x + width + SLACK && one.top >= y - SLACK
      && one.bottom <= y + height + SLACK;
    if (!isInside) wrong(name + ': "' + one.text + '" is cut off, ' + one.left.toFixed() + ' to '
      + one.right.toFixed() + ' of ' + width + ', ' + one.top.toFixed() + ' to ' + one.bottom.toFixed() + ' of ' + height);
  }
  boxes.forEach((one, place) => boxes.slice(place + 1).filter(other => overlap(one, other)).forEach(other =>
    wrong(name + ': "' + one.text + '" covers "' + other.text + '"')));
}
// Each grid of a map fits, and so do the figures of each of its cells, which show when it has the focus.
const shown = element => element.getBoundingClientRect();
for (const layer of document.querySelectorAll('.layer')) {
  const name = layer.querySelector('h3').textContent;
  const table = layer.querySelector('.wide');
  if (table.scrollWidth > table.clientWidth + SLACK) wrong(name + ': its grid is ' + table.scrollWidth + ' wide');
  for (const cell of layer.querySelectorAll('td')) {
    const tip = cell.querySelector('.tip');
    if (shown(tip).width > 0) wrong(name + ': figures of a cell that nobody pointed at');
    cell.focus();
    const {left, right, width} = shown(tip);
    if (!(width > 100) || left < 0 || right > innerWidth) wrong(name + ': no figures of ' + cell.textContent);
    cell.blur();
  }
}
if (root.scrollWidth > innerWidth) wrong('with figures shown the page is ' + root.scrollWidth + ' wide');
const cells = document.querySelectorAll('.layer td').length;
const mapped = Number(new URLSearchParams(location.search).get('cells'));
if (cells !== mapped) wrong(cells + ' cells of a map of ' + mapped);
said.push('LOOKED at ' + innerWidth + ': ' + charts.length + ' charts of ' + groups.length + ' cases, ' + cells + ' cells, '
  + document.querySelectorAll('svg text').length + ' labels');
parent.postMessage(said.join('\n') + '\n', '*');
