#!/usr/bin/env bash
# The page in a real browser, on a phone and on a desk: nothing is fetched or reported, nothing is wider than the
# window, every chart is there, and no text of a chart is cut off or covers another.
# tests/browser.sh BROWSER LEDGER_BENCH CSV
set -euo pipefail

readonly browser=$1 bench=$2 csv=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "tests/browser.sh: $*" >&2
  exit 1
}

# render WIDTH PAGE: its elements as the browser has them, in $dom; what it said, in $folder/said.
render() {
  dom=$(timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" \
    --allow-file-access-from-files --window-size="$1,900" --virtual-time-budget=2000 --enable-logging=stderr \
    --dump-dom "file://$folder/$2" 2>"$folder/said") || fail "the browser failed: $(tail -n 3 "$folder/said")"
  ! grep CONSOLE "$folder/said" || fail "$2 at $1 px: the browser reports the above"
}

run_id=$(sed -n '2{s/^[^,]*,\([^,]*\),.*/\1/p}' "$csv")
"$bench" report --csv "$csv" --run "$run_id" --format html --output "$folder/report.html"
! grep -Eio '(src|href) *=|url\(|@import|<script|[ <]on[a-z]+ *=' "$folder/report.html" ||
  fail "the page fetches or runs something"
cases=$(grep -c '^<section>$' "$folder/report.html")
charts=$(grep -o '<svg' "$folder/report.html" | wc -l)
((cases > 8 && charts >= 24 && charts % 3 == 0)) || fail "$cases sections with $charts charts are not those of a whole run"

cp "$folder/report.html" "$folder/copy.html"
{ echo '<script>' && cat "$(dirname "$0")/browser.js" && echo '</script>'; } >>"$folder/copy.html"
# Browsers have windows of some 500 px at least: a phone is a frame of its width.
cat >"$folder/phone.html" <<'TEXT'
<!DOCTYPE html><body><iframe src="copy.html" width="390" height="800"></iframe><script>
onload = () => Object.assign(document.body.dataset, document.querySelector("iframe").contentDocument.body.dataset);
</script>
TEXT
render 1280 report.html
for at in '1280 copy.html' '1280 phone.html'; do
  read -r width page <<<"$at"
  render "$width" "$page"
  [[ $dom =~ data-charts=\"([0-9]+)\" && ${BASH_REMATCH[1]} == "$charts" ]] || fail "$page: not all $charts charts are there"
  [[ $dom =~ data-found=\"([^\"]*)\" ]] || fail "$page: the browser did not look"
  [[ ${BASH_REMATCH[1]} == "0 faults; "* ]] || fail "$page: ${BASH_REMATCH[1]}"
done
echo "tests/browser.sh: $charts charts of $cases sections, on a desk and on a phone"
