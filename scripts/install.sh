# Installs npm packages when they are missing or older than the lock file. Argument: `run` for what the server needs,
# `all` for the tests, too. Plain sh, because it runs before the install, on any machine.
want=$1
cd "$(dirname "$0")/.." || exit

fresh() {
  [ -e "node_modules/.installed-$1" ] && [ ! package-lock.json -nt "node_modules/.installed-$1" ]
}
fresh all && exit 0
[ "$want" = run ] && fresh run && exit 0

echo "Installing npm packages (once)" >&2
if [ "$want" = run ]; then
  npm install --omit=dev --no-save --no-audit --no-fund --loglevel=error >&2 || exit
else
  npm install --no-save --no-audit --no-fund --loglevel=error >&2 || exit
fi
: >"node_modules/.installed-$want"
