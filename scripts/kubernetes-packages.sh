# Installs what the long form of the Kubernetes tests needs (CONTRIBUTING.md): some minutes and 200 MB, so not part of `npm test`.
missing=""
for package in etcd-server containerd runc containernetworking-plugins iproute2 openssl procps git python3-venv; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, and this user cannot:$missing" >&2
  exit 1
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
