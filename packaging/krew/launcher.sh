#!/bin/sh
# Runs the plugin from the folder that krew unpacked, with the Python that its libraries were built for.
set -eu
here=$(dirname "$(readlink -f "$0")")
for python in "python@PYTHON@" python3; do
  if "$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "@PYTHON@")' 2>/dev/null; then
    PYTHONPATH="$here/lib" exec "$python" -s -c 'from reporter.entry import plugin; raise SystemExit(plugin())' "$@"
  fi
done
echo "kubectl status-reporter: needs Python @PYTHON@ on PATH" >&2
exit 2
