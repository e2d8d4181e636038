# Installs uv while the server starts, so that the first build of a virtualenv need not wait for it. The environment contains
# the operator's settings for jobs. Arguments: what uv.sh calls tools, uv_version, uv_list and python, and the path of uv.sh.
tools=$1 uv_version=$2 uv_list=$3 python=$4
uv_settings=/dev/null

cancelled() {
  :
}

. "$5"
# The machine may just have started, and have no network yet: the first build tries again.
[ -n "$uv" ] || rm -f "$tools/uv.failed"
