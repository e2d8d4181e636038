# Installs programs that some tests use, if the machine allows it; otherwise those tests are skipped with a message.
missing=""
for program in git zsh fish chromium caddy; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
command -v bwrap >/dev/null || missing="$missing bubblewrap"
command -v nginx >/dev/null || missing="$missing nginx"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
[ -e /usr/lib/nginx/modules/ngx_http_dav_ext_module.so ] || missing="$missing libnginx-mod-http-dav-ext"
[ -e /usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so ] ||
  missing="$missing libnginx-mod-http-headers-more-filter"
ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || missing="$missing libfaketime"
[ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
[ -x /usr/sbin/vsftpd ] || missing="$missing vsftpd"
[ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/slurmd ] || missing="$missing slurm-wlm"
[ -x /usr/sbin/munged ] || missing="$missing munge"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, and this user cannot:$missing. The tests that need them are skipped." >&2
  exit 0
fi
echo "Installing for the tests:$missing" >&2
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing; } >/dev/null ||
  echo "They could not be installed. The tests that need them are skipped." >&2
exit 0
