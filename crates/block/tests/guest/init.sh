#!/bin/busybox sh
# The first and only program of the guest, which run.sh packs with what it needs.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
# Whatever the firmware has left on the line ends here.
echo

say() { echo "guest: $*"; }
end() { say "$*"; poweroff -f; sleep 60; }
fail() {
    say "failed: $*"
    echo "--- kernel"; dmesg | tail -n 30
    for log in /tmp/log*; do echo "--- $log"; tail -n 20 "$log"; done
    end "gave up"
}
seconds() { cut -d. -f1 /proc/uptime; }
# serve LINE OPTION...: starts a server, and waits until it says that the disk is there.
serve() {
    line=$1; shift
    : >/tmp/log
    evener image serve /disk.img.zst --ublk "$@" 2>/tmp/log &
    server=$!
    for _ in $(seq 600); do
        grep -q "$line" /tmp/log && return
        kill -0 $server 2>/dev/null || fail "the server did not start: $(cat /tmp/log)"
        sleep 0.05
    done
    fail "the server does not say: $line"
}
# stop: ends the server as a user would, and looks whether the disk is gone.
stop() {
    kill -TERM $server
    wait $server
    status=$?
    [ $status -eq 143 ] || fail "the server ended with status $status"
    for _ in $(seq 100); do
        [ -e /dev/ublkb0 ] || [ -e /dev/ublkc0 ] || return
        sleep 0.05
    done
    fail "the disk is still there"
}
# refused WORDS OPTION...: a server that must not start, and say so in one line.
refused() {
    words=$1; shift
    evener image serve "$@" 2>/tmp/log1 && fail "no error with: $*"
    grep -q "$words" /tmp/log1 || fail "with $* it says: $(cat /tmp/log1)"
    [ "$(wc -l </tmp/log1)" -eq 1 ] || fail "with $* it says more than a line: $(cat /tmp/log1)"
}

say "Linux $(uname -r), $(nproc) cpus, up in $(seconds) s"

refused "modprobe ublk_drv" /disk.img.zst --ublk
insmod /ublk_drv.ko || fail "the driver cannot be loaded"
refused "there is no ublk device 7; there is none" /disk.img.zst --ublk --recover 7
chmod 644 /disk.img.zst
say "errors: no driver, no such device"

# The whole of it, by direct reads, and what cannot be done to it.
serve "at /dev/ublkb0$"
say "$(cat /tmp/log)"
[ "$(cat /sys/block/ublkb0/ro)" = 1 ] || fail "the disk is not read only"
dd if=/dev/zero of=/dev/ublkb0 bs=4096 count=1 2>/dev/null && fail "the disk can be written"
sync
refused "is served by process" /disk.img.zst --ublk --recover 0
refused "another image\|sectors" /other.img --ublk --recover 0
from=$(seconds)
[ "$(dd if=/dev/ublkb0 iflag=direct bs=1M 2>/dev/null | sha256sum)" = "$(cat /whole)" ] || fail "direct reads differ"
[ "$(dd if=/dev/ublkb0 bs=1M 2>/dev/null | sha256sum)" = "$(cat /whole)" ] || fail "reads differ"
say "the whole disk twice, by direct and by buffered reads, in $(($(seconds) - from)) s"

# A file system on it, against the tree it was made of.
from=$(seconds)
mount -t ext4 -o ro /dev/ublkb0 /mnt || fail "it cannot be mounted"
for round in 1 2 3 4 5 6 7 8 9 10; do
    echo 3 >/proc/sys/vm/drop_caches
    diff -r /tree /mnt/tree || fail "round $round differs"
done
umount /mnt
say "mounted, 10 rounds of diff -r without a difference in $(($(seconds) - from)) s"
stop
say "the server ended and took the disk away: $(tail -n 1 /tmp/log)"

# With several queues of little depth, and with one.
for options in "--queues 2 --depth 2 --cache 0 --readahead off" "--queues 1 --depth 1 --workers 1" "--queues 2 --depth 300"; do
    # shellcheck disable=SC2086
    serve "at /dev/ublkb0$" $options
    for reader in 1 2 3; do
        (dd if=/dev/ublkb0 iflag=direct bs=192k 2>/dev/null | sha256sum >/tmp/sum$reader) &
        eval "reader$reader=\$!"
    done
    # shellcheck disable=SC2154
    wait $reader1 $reader2 $reader3
    for reader in 1 2 3; do
        [ "$(cat /tmp/sum$reader)" = "$(cat /whole)" ] || fail "reader $reader with $options"
    done
    stop
    say "three readers at once with $options"
done

# Readers that compare what they read, while the server is killed again and again.
rounds=$(sed 's/.*rounds=\([0-9]*\).*/\1/' /proc/cmdline)
total=$(wc -l </sums)
serve "at /dev/ublkb0$"
# reader NAME STRIDE: reads 256 KiB here and there until it is told to end.
reader() {
    place=0; read=0; bad=0
    while [ ! -e /tmp/enough ]; do
        place=$(((place + $2) % total))
        want=$(sed -n "$((place + 1))p" /sums)
        got=$(dd if=/dev/ublkb0 iflag=direct bs=256k skip=$place count=1 2>>/tmp/log.$1 | sha256sum)
        read=$((read + 1))
        [ "${got%% *}" = "$want" ] || { bad=$((bad + 1)); echo "place $place: $got" >>/tmp/log.$1; }
    done
    echo "$read $bad" >/tmp/read.$1
}
mount -t ext4 -o ro /dev/ublkb0 /mnt || fail "it cannot be mounted"
(reader one 1) & one=$!
(reader two 37) & two=$!
(reader three 101) & three=$!
(while [ ! -e /tmp/enough ]; do echo 3 >/proc/sys/vm/drop_caches; diff -r /tree /mnt/tree >>/tmp/log.tree 2>&1 || echo bad >>/tmp/log.tree; echo >>/tmp/trees; done) & four=$!
for round in $(seq "$rounds"); do
    sleep 2
    kill -9 $server
    wait $server
    serve "taken over" --recover 0
done
say "$(cat /tmp/log)"
sleep 2
touch /tmp/enough
for left in $(seq 1200); do
    kill -0 $one 2>/dev/null || kill -0 $two 2>/dev/null || kill -0 $three 2>/dev/null || kill -0 $four 2>/dev/null || break
    sleep 0.1
done
[ "$left" -lt 1200 ] || fail "a read was never answered"
reads=0
for name in one two three; do
    read -r read bad </tmp/read.$name || fail "reader $name did not end"
    [ "$bad" -eq 0 ] || fail "reader $name: $bad of $read reads are wrong"
    reads=$((reads + read))
done
[ ! -s /tmp/log.tree ] || fail "the tree differs: $(head -n 3 /tmp/log.tree)"
umount /mnt
say "killed $rounds times: $reads reads of 256 KiB and $(wc -l </tmp/trees) rounds of diff -r, all answered, none wrong"
stop
dmesg | grep -E 'I/O error|WARNING|BUG' && fail "the kernel complains"
end "passed"
