#!/usr/bin/env bash
# The HTML report in a browser, at a phone's width and at a desk's. Called by `./run.sh test`; alone:
#   tests/browser.sh BROWSER BINARY     Chromium or Chrome, and target/release/ledger-bench
# Nothing is measured here but a template of a row: the figures are made up, the same each time, and mean to be hard to draw.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly WIDTHS='390 1280'   # CSS pixels
browser=$1 bin=$(realpath "$2")
mkdir -p target
scratch=$(mktemp -d -p "$PWD/target") # where scratch folders are memory, no plan takes one for its data
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
  echo "FAIL  $*" >&2
  failed=1
}

# ---- Pages ----

# template SUITE BENCHMARK: a CSV of one real row, for its header and for what is known of this machine.
template() {
  local sample
  sample=$("$bin" plan --csv "$scratch/template.csv" --data "$scratch" --suite "$1" --benchmark "$2" --system memory \
    --ops 10 --rounds 1 --warmup 0ms | sed -n 's/^sample=//p')
  "$bin" run --csv "$scratch/template.csv" --data "$scratch" -- "$sample" 2>"$scratch/run.log" ||
    { cat "$scratch/run.log" >&2; return 1; }
}

# rows RUN_ID ROUNDS
rows() { awk -v run_id="$1" -v rounds="$2" -f tests/browser/columns.awk -f tests/browser/rows.awk "$scratch/template.csv"; }

# A sweep of 100 cells.
map() { awk -v run_id=run-1 -v rounds=6 -f tests/browser/columns.awk -f tests/browser/map.awk "$scratch/template.csv"; }

# page NAME FILE...
page() { "$bin" report "${@:2}" --format html --output "$scratch/$1.html"; }

# How many cases of systems the same rows have.
cases() {
  "$bin" report "$@" --format json |
    awk '/^  "failed":/ { over = 1 } /^      "suite":/ && !over && !/"(floor|calibration)"/ { cases++ } END { print cases + 0 }'
}

# ---- The browser ----

# browse OPTION... URL: nothing leaves this machine; what the console says is in $scratch/log.
browse() {
  timeout --foreground --kill-after=5 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$scratch/profile" --disable-background-networking --disable-component-update --no-first-run \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --virtual-time-budget=5000 "$@" 2>"$scratch/log"
}

# look NAME CASES [CELLS]: the page as it is, then copies of it that measure themselves, in frames, as a headless window may not
# be as narrow as a phone.
look() {
  browse --dump-dom "file://$scratch/$1.html" >"$scratch/dom" || fail "$1: the browser ended with status $?"
  grep -q '</html>' "$scratch/dom" || fail "$1: the browser showed nothing"
  ! grep CONSOLE "$scratch/log" >&2 || fail "$1: the browser complains"
  measuring_copy "$1" >"$scratch/copy.html"
  frames "$2" "${3:-0}" >"$scratch/frames.html"
  browse --dump-dom --window-size=1400,1000 "file://$scratch/frames.html" >"$scratch/dom" ||
    fail "$1: the browser ended with status $?"
  judge "$1"
}

# The page itself forbids scripts, and has none.
measuring_copy() {
  sed "s|default-src 'none'|&; script-src 'unsafe-inline'|" "$scratch/$1.html"
  printf '<script>\n%s\n</script>\n' "$(<tests/browser/measure.js)"
}

# frames CASES CELLS: what each copy says comes into the wrapper's document, a line a finding.
frames() {
  local width
  echo '<!DOCTYPE html><pre id="said"></pre>'
  echo '<script>onmessage = event => document.getElementById("said").append(event.data);</script>'
  for width in $WIDTHS; do
    echo "<iframe src=\"copy.html?cases=$1&cells=$2\" style=\"border: 0; width: ${width}px; height: 900px\"></iframe>"
  done
}

judge() {
  local width
  sed -n 's/.*\(WRONG .*\)/\1/p' "$scratch/dom" | while IFS= read -r line; do echo "      $line" >&2; done
  ! grep -q '^\(.*>\)\?WRONG ' "$scratch/dom" || fail "$1: see above"
  for width in $WIDTHS; do
    grep -q "LOOKED at $width: " "$scratch/dom" || fail "$1: nothing was measured at $width pixels"
  done
  ! grep CONSOLE "$scratch/log" >&2 || fail "$1: the browser complains of the copy"
  grep -o 'LOOKED at .*' "$scratch/dom" | sed "s/^/ok    $1: /" || true
}

# ---- What is looked at ----

template ledger single
rows run-1 6 >"$scratch/one.csv"
rows 20261201T022900Z-0412 60 >"$scratch/other.csv"
page one "$scratch/one.csv"
look one "$(cases "$scratch/one.csv")"
page two-runs "$scratch/one.csv" "$scratch/other.csv"
look two-runs "$(cases "$scratch/one.csv" "$scratch/other.csv")"
page reference results/reference.csv
look reference "$(cases results/reference.csv)"
map >"$scratch/map.csv"
page map "$scratch/map.csv"
look map "$(cases "$scratch/map.csv")" 100
exit "$failed"
