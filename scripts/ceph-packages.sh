# Installs Ceph RGW, for the long form of the storage tests (CONTRIBUTING.md): some minutes and 290 MB, so not part of `npm test`.
missing=""
for package in ceph-mon ceph-mgr ceph-osd ceph-common radosgw; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, and this user cannot:$missing" >&2
  exit 1
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
