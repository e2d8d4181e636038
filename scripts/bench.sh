# `npm run bench`: prints a table of ratios, both sides of each measured in the same run. Arguments choose parts.
here=$(dirname "$0")
cd "$here/.." || exit
sh scripts/install.sh all || exit
exec node_modules/.bin/node --conditions=millrace-source --disable-warning=ExperimentalWarning bench/main.ts "$@"
