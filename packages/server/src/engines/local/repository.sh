# Clones a repository into the working directory. Arguments: URL, revision or empty.
url=$1 revision=$2
# Without isolation they lie where everything else does.
configuration="" said=""
trap 'rm -f "$configuration" "$said"' EXIT
trap 'exit 1' HUP INT TERM

# Never a prompt: nobody is there to answer. No hooks, no transport that runs a command of the URL's choosing.
export GIT_TERMINAL_PROMPT=0
export GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new}"
# Repositories in the operator's folders belong to others, and the operator has listed them: that is known to be so.
case $url in
[Ff][Ii][Ll][Ee]:*)
  configuration=$(mktemp) || exit
  printf '[safe]\n\tdirectory = *\n' >"$configuration"
  export GIT_CONFIG_GLOBAL="$configuration"
  ;;
esac
safe_git() {
  git -c core.hooksPath=/dev/null -c protocol.ext.allow=never "$@"
}

# Asks for the newest commits alone. A server of plain files (dumb HTTP) cannot send those: returns 9, and git has said why.
shallow() {
  said=$(mktemp) || exit
  (LC_ALL=C && export LC_ALL && safe_git "$@") 2>"$said"
  code=$?
  [ "$code" = 0 ] || ! grep -q 'dumb http transport does not support shallow' "$said" || code=9
  cat "$said" >&2
  rm -f "$said"
  [ "$code" != 9 ] || echo "The repository is served as plain files: getting all of its history"
  return "$code"
}

if [ -z "$revision" ]; then
  shallow clone --depth 1 --recurse-submodules --shallow-submodules -- "$url" . || {
    code=$?
    [ "$code" = 9 ] || exit "$code"
    # Where a submodule is what cannot be had, the clone is there already, and would be in the way.
    find . -mindepth 1 -delete || exit
    safe_git clone --recurse-submodules -- "$url" . || exit
  }
  exit 0
fi
safe_git clone --no-checkout -- "$url" . || exit
commit=$(safe_git rev-parse --verify --quiet --end-of-options "$revision^{commit}" ||
  safe_git rev-parse --verify --quiet --end-of-options "origin/$revision^{commit}") || {
  echo "The repository has no revision $revision" >&2
  exit 1
}
safe_git checkout --quiet --detach "$commit" || exit
shallow submodule update --init --recursive --depth 1 || {
  code=$?
  [ "$code" = 9 ] || exit "$code"
  safe_git submodule update --init --recursive
}
