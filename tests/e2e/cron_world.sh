#!/bin/sh
# A world with a real cron and no other crontabs than ours: cron_world.sh CRON SKILL HOME
# Run it as root under `unshare -m`; what it mounts is gone with it.
set -eu
cron=$1 skill=$2 home=$3
fail() { printf 'cron_world: %s\n' "$1" >&2; exit 1; }

mount --make-rprivate /
mkdir -p /var/spool/cron /etc/cron.d
for place in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs tmpfs "$place"; done
mkdir -m 1730 /var/spool/cron/crontabs
[ ! -e /etc/crontab ] || mount --bind /dev/null /etc/crontab
mkdir "$home/pam.d"
cp -r /etc/pam.d/. "$home/pam.d/"
cp "$cron/etc/pam.d/cron" "$home/pam.d/"
mount --bind "$home/pam.d" /etc/pam.d
PATH=$cron/usr/bin:$PATH
export PATH

# The person's own lines. cron takes HOME from the system's list of users.
printf '# mine\nHOME=%s\nXDG_DATA_HOME=%s\nXDG_CACHE_HOME=%s\n17 4 * * * true # 100%% mine\n' \
    "$home" "$XDG_DATA_HOME" "$XDG_CACHE_HOME" >"$home/mine"
crontab "$home/mine"
/bin/sh "$skill/scripts/setup.sh" --yes --scheduler crontab
crontab -l >"$home/with-ours"
grep -q 'total-recall' "$home/with-ours" || fail 'setup wrote no line'
cat "$home/with-ours"
/bin/sh "$skill/scripts/setup.sh" --yes --scheduler crontab
crontab -l | cmp - "$home/with-ours" || fail 'a second setup changed the crontab'

sed 's|^\*/15 |* |' "$home/with-ours" >"$home/each-minute"
cmp -s "$home/with-ours" "$home/each-minute" && fail 'no line that runs every 15 minutes'
crontab "$home/each-minute"
stamp=$(sed -n 's/^MEMORY_DIR=//p' "$home/with-ours")
stamp=${stamp:-$home/.openclaw/workspace/memory}/.observer-last-run
rm -f "$stamp"
"$cron/usr/sbin/cron" -f &
pid=$!
waited=0
while [ ! -s "$stamp" ] && [ "$waited" -lt 150 ]; do sleep 1; waited=$((waited + 1)); done
kill "$pid"
[ -s "$stamp" ] || fail 'cron did not run the observer in 150 seconds'

crontab "$home/with-ours"
/bin/sh "$skill/scripts/total-recall" uninstall --yes
crontab -l | cmp - "$home/mine" || fail 'after uninstall the crontab is not as it was'
