# Clones a repository into the working directory. Arguments: URL, revision or empty.
url=$1 revision=$2

# Never a prompt: nobody is there to answer. No hooks, no transport that runs a command of the URL's choosing.
export GIT_TERMINAL_PROMPT=0
export GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new}"
# Repositories in the operator's folders belong to others, and the operator has listed them: that is known to be so.
case $url in
[Ff][Ii][Ll][Ee]:*)
  GIT_CONFIG_GLOBAL=$(mktemp) || exit
  printf '[safe]\n\tdirectory = *\n' >"$GIT_CONFIG_GLOBAL"
  export GIT_CONFIG_GLOBAL
  ;;
esac
safe_git() {
  git -c core.hooksPath=/dev/null -c protocol.ext.allow=never "$@"
}

if [ -z "$revision" ]; then
  exec git -c core.hooksPath=/dev/null -c protocol.ext.allow=never \
    clone --depth 1 --recurse-submodules --shallow-submodules -- "$url" .
fi
safe_git clone --no-checkout -- "$url" . || exit
commit=$(safe_git rev-parse --verify --quiet --end-of-options "$revision^{commit}" ||
  safe_git rev-parse --verify --quiet --end-of-options "origin/$revision^{commit}") || {
  echo "The repository has no revision $revision" >&2
  exit 1
}
safe_git checkout --quiet --detach "$commit" || exit
safe_git submodule update --init --recursive --depth 1
