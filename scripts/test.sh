# `npm test`: installs what is missing, then runs every check and test, and prints the time of each part.
# Arguments: names of parts (check, unit, server, cli, client, crash); none means all.
cd "$(dirname "$0")/.." || exit
failed=""
started=$(date +%s)

part() {
  name=$1
  shift
  case " $wanted " in *" $name "* | "  ") ;; *) return ;; esac
  begin=$(date +%s)
  echo "== $name"
  "$@" || failed="$failed $name"
  echo "== $name took $(($(date +%s) - begin)) s"
}

run_tests() {
  node_modules/.bin/node --conditions=millrace-source --disable-warning=ExperimentalWarning --test --test-concurrency="${TEST_CONCURRENCY:-2}" "$@"
}

wanted="$*"
part install sh scripts/install.sh all
wanted="$*"
part check sh scripts/check.sh
part contract run_tests packages/contract/test/*.test.ts
part server run_tests packages/server/test/*.test.ts
part cli run_tests packages/cli/test/*.test.ts e2e/cli*.test.ts
part client run_tests e2e/client*.test.ts
part crash run_tests e2e/crash*.test.ts
echo "== all took $(($(date +%s) - started)) s"
[ -z "$failed" ] || {
  echo "failed:$failed"
  exit 1
}
