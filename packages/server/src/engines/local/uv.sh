# Puts uv into the data folder, once, where the machine has none: it builds environments many times as fast as pip.
# Sourced by environment.sh, with the rights of the server. Sets uv, or leaves it empty where there is none to be had.
# Set by the plan: tools (folder of programs of our own), uv_version, uv_list (that version with hashes of its packages),
# python. The operator's settings for jobs are in the file tool-env.

# One try an hour where there is no way to the registry: each takes a while.
uv_failed_lately() {
  [ -n "$(find "$tools/uv.failed" -mmin -60 2>/dev/null)" ]
}

# Of a package whose hash is right nothing else need be known. No user's settings, and no cache, are touched.
fetch_uv() {
  . ./tool-env
  "$python" -I -m venv "$1" &&
    "$1/bin/python" -I -m pip install --quiet --no-input --no-cache-dir --retries 1 --timeout 20 --no-deps \
      --only-binary :all: --require-hashes --requirement "$uv_list"
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
  open_lock "$tools/uv.lock"
  exec 8>"$tools/uv.lock"
  until flock -x -w 1 8; do cancelled; done
  if [ ! -x "$uv" ] && { uv_failed_lately || ! install_uv; }; then
    echo "uv could not be installed, so pip builds this virtualenv, which takes longer. $(cat "$tools/uv.failed")"
    uv=
  fi
  exec 8>&-
fi
