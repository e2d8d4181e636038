# Clones a repository into the working directory. Arguments: URL, revision or empty.
url=$1 revision=$2
# Temporary files. They are removed at exit, because without isolation they are in the machine's shared /tmp.
configuration="" said=""
trap 'rm -f "$configuration" "$said"' EXIT
trap 'exit 1' HUP INT TERM

# Git must not prompt, because nobody can answer. It runs no hooks and no transport that executes a command from the URL.
export GIT_TERMINAL_PROMPT=0
export GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new}"
# Git refuses local repositories of other users. The operator has allowed these folders explicitly, so the check is off.
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

# Runs a shallow git command. Returns 9 if the server is a plain file server (dumb HTTP), which cannot send part of a history.
shallow() {
  said=$(mktemp) || exit
  (LC_ALL=C && export LC_ALL && safe_git "$@") 2>"$said"
  code=$?
  [ "$code" = 0 ] || ! grep -q 'dumb http transport does not support shallow' "$said" || code=9
  cat "$said" >&2
  rm -f "$said"
  [ "$code" != 9 ] || echo "The repository is served as plain files: downloading its whole history"
  return "$code"
}

if [ -z "$revision" ]; then
  shallow clone --depth 1 --recurse-submodules --shallow-submodules -- "$url" . || {
    code=$?
    [ "$code" = 9 ] || exit "$code"
    # If only a submodule failed, the clone already exists, and git needs an empty folder.
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
