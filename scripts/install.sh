# Installs npm packages when they are missing or older than the lock file. Argument: `run` for what the service needs,
# `all` for the tests' needs too. Plain sh: what runs before the install must run on any machine.
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
