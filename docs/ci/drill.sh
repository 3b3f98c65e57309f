#!/usr/bin/env bash
# A drill in a CI: two real Kafka clusters as local processes, a failover for the exercise, JUnit XML and a page.
# Ends with 1 when a limit of the flow is passed, with 2 when something is missing. Needs Python 3.10 or newer with venv.
#
#   FLOW=flows/orders.yaml drill.sh [DIR] [OPTION OF mm2 drill ...]
#
# DIR (reports) gets drill.xml, drill.html, drill.json and drills.jsonl, to which each drill adds a line.
# FLOW     your flow's file, whose clusters are ${MM2_SOURCE} and ${MM2_TARGET}; "sample" is the one that mm2 init writes.
# MM2      an installed mm2; without it the package is installed into .mm2-venv.
# PACKAGE  what pip installs then: 'PATH OF A CHECKOUT OR WHEEL[drill,local]'; without it the checkout that this lies in.
set -euo pipefail
refuse() {
  printf '%s\n  Likely cause: %s\n  Next move: %s\n' "$@" >&2
  exit 2
}
[ -n "${FLOW:-}" ] || refuse "no flow is named" "FLOW is not set" \
  "set FLOW to your flow's file, or to sample for the flow that mm2 init writes"
[ "$FLOW" = sample ] || [ -f "$FLOW" ] || refuse "there is no file $FLOW" "FLOW goes from where the script is run" \
  "set FLOW to your flow's file"
if [ -z "${MM2:-}" ]; then
  checkout=$(cd "$(dirname "$0")/../.." && pwd)
  if [ -z "${PACKAGE:-}" ]; then
    grep -qs '^name = "airflow-provider-mm2"' "$checkout/pyproject.toml" || refuse "there is no mm2 to drill with" \
      "drill.sh was copied out of the checkout, and neither MM2 nor PACKAGE is set" \
      "set MM2 to an installed mm2, or PACKAGE to what pip shall install: 'PATH OF A CHECKOUT OR WHEEL[drill,local]'"
    PACKAGE="$checkout[drill,local]"
  fi
  python3 -m venv .mm2-venv
  .mm2-venv/bin/python -m pip install --quiet "$PACKAGE"
  MM2=.mm2-venv/bin/mm2
fi
reports=${1:-reports}
shift || true
mkdir -p "$reports"
work=$(mktemp -d)
stop() {
  "$MM2" local down --dir "$work/pair" || true
  rm -rf "$work"
}
trap stop EXIT
pair=$("$MM2" local up --dir "$work/pair" --json)
address() { python3 -c "import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]]['bootstrap.servers'])" "$pair" "$1"; }
MM2_SOURCE=$(address source) MM2_TARGET=$(address target)
export MM2_SOURCE MM2_TARGET
if [ "$FLOW" = sample ]; then
  "$MM2" init "$work/dags"
  FLOW=$work/dags/flows/local.yaml
fi
"$MM2" drill "$FLOW" --json-out "$reports/drill.json" --junit "$reports/drill.xml" \
  --html "$reports/drill.html" --history "$reports/drills.jsonl" "$@"
