# Installs uv into the data folder, once, if the machine has none: uv builds virtualenvs many times faster than pip.
# environment.sh and early-uv.sh source this script, with the server's rights. It sets the variable `uv`, or leaves the
# variable empty if uv cannot be installed. Variables that they set: tools (folder of the server's own programs),
# uv_version, uv_list (requirements file with that version and its hashes), python, uv_settings (file with the operator's
# settings for jobs).

# Whether an installation failed within the last hour. Then it is not tried again: without access to the package registry,
# every try takes a while.
uv_failed_lately() {
  [ -n "$(find "$tools/uv.failed" -mmin -60 2>/dev/null)" ]
}

# Installs uv with pip into a temporary folder. The hashes prove that the package is genuine, so any source of it is safe.
# User settings and caches are not used. A virtualenv with pip takes longer to create than all the rest, so the
# interpreter's own pip is used if it has one.
fetch_uv() {
  . "$uv_settings"
  if "$python" -I -m pip --version >/dev/null 2>&1; then
    set -- "$python" --target "$1"
  else
    "$python" -I -m venv "$1" || return
    set -- "$1/bin/python"
  fi
  installer=$1
  shift
  "$installer" -I -m pip install --quiet --no-input --disable-pip-version-check --no-cache-dir --retries 1 --timeout 20 --no-deps \
    --only-binary :all: --require-hashes --requirement "$uv_list" "$@"
}

install_uv() {
  echo "Installing uv $uv_version, which builds virtualenvs"
  draft=$tools/uv.new
  rm -rf "$draft" "$draft.program"
  if (fetch_uv "$draft") >"$tools/uv.log" 2>&1 7>&- 8>&- 9>&- && mkdir -m 0755 "$draft.program" &&
    cp "$draft/bin/uv" "$draft.program/uv" && chmod 0755 "$draft.program/uv" && sync -f "$draft.program" &&
    mv -T "$draft.program" "$tools/uv-$uv_version"; then
    rm -rf "$draft" "$tools/uv.log" "$tools/uv.failed"
    return
  fi
  grep -i error "$tools/uv.log" | tail -n 1 | cut -c1-500 >"$tools/uv.failed"
  rm -rf "$draft" "$draft.program"
  return 1
}

uv=$tools/uv-$uv_version/uv
if [ ! -x "$uv" ]; then
  # A job that could open this file could hold the lock.
  (umask 077 && true >>"$tools/uv.lock") || exit
  exec 8>"$tools/uv.lock"
  if ! flock -x -n 8; then
    echo "Waiting for uv, which is being installed"
    until flock -x -w 1 8; do cancelled; done
  fi
  if [ ! -x "$uv" ] && { uv_failed_lately || ! install_uv; }; then
    echo "uv could not be installed, so pip builds this virtualenv, which takes longer. $(cat "$tools/uv.failed")"
    uv=
  fi
  exec 8>&-
fi
