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
    [ $status -eq 0 ] || fail "the server ended with status $status"
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
ticks() { cut -d' ' -f14,15 /proc/$server/stat | tr ' ' '+'; }
before=$(($(ticks)))
sleep 5
used=$(($(ticks) - before))
[ $used -le 5 ] || fail "an idle server took $used hundredths of a second in 5 s"
say "mounted, 10 rounds of diff -r without a difference; idle for 5 s it took $((used * 10)) ms of processor time"
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
# verifier: the same by fio, many reads at once.
verifier() {
    read=0; bad=0
    while [ ! -e /tmp/enough ] && [ -e /verify ]; do
        # shellcheck disable=SC2046
        fio $(cat /verify) --filename=/dev/ublkb0 --rw=randread --direct=1 --ioengine=libaio --iodepth=16 --readonly --verify_state_save=0 \
            --randseed=$read >/tmp/fio 2>&1 || { bad=$((bad + 1)); cat /tmp/fio >>/tmp/log.fio; }
        new=$(sed -n 's/.*issued rwts: total=\([0-9]*\),.*/\1/p' /tmp/fio)
        read=$((read + ${new:-0}))
    done
    echo "$read $bad" >/tmp/read.fio
}
mount -t ext4 -o ro /dev/ublkb0 /mnt || fail "it cannot be mounted"
(reader one 1) & one=$!
(reader two 37) & two=$!
(reader three 101) & three=$!
(while [ ! -e /tmp/enough ]; do
    echo 3 >/proc/sys/vm/drop_caches
    diff -r /tree /mnt/tree >>/tmp/log.tree 2>&1 || echo bad >>/tmp/log.tree
    echo >>/tmp/trees
done) & four=$!
verifier & five=$!
for round in $(seq "$rounds"); do
    sleep 2
    kill -9 $server
    wait $server
    serve "taken over" --recover 0
done
say "$(cat /tmp/log)"
sleep 2
touch /tmp/enough
left=1200
for reader in $one $two $three $four $five; do
    while kill -0 "$reader" 2>/dev/null; do
        left=$((left - 1))
        [ $left -gt 0 ] || fail "a read was never answered"
        sleep 0.1
    done
done
reads=0
for name in one two three; do
    read -r read bad </tmp/read.$name || fail "reader $name did not end"
    [ "$bad" -eq 0 ] || fail "reader $name: $bad of $read reads are wrong"
    reads=$((reads + read))
done
read -r read bad </tmp/read.fio || fail "fio did not end"
[ "$bad" -eq 0 ] || fail "fio: $bad runs failed"
[ ! -s /tmp/log.tree ] || fail "the tree differs: $(head -n 3 /tmp/log.tree)"
umount /mnt
say "killed $rounds times: $reads reads of 256 KiB, $read by fio and $(wc -l </tmp/trees) rounds of diff -r, all answered, none wrong"
stop
dmesg | grep -E 'I/O error|WARNING|BUG' && fail "the kernel complains"

# A disk that is written, whose server is killed while files are written and after.
if [ -e /bin/mkfs.ext4 ]; then
    serve "at /dev/ublkb0$" --overlay /overlay
    [ "$(cat /sys/block/ublkb0/ro)" = 0 ] || fail "the disk is read only"
    refused "overlay" /disk.img.zst --ublk --recover 0 --overlay /overlay2
    refused "other overlays" /disk.img.zst --ublk --recover 0
    mkfs.ext4 -q -F /dev/ublkb0 >/tmp/log1 2>&1 || fail "no file system can be made"
    mount -t ext4 -o discard /dev/ublkb0 /mnt || fail "it cannot be mounted to be written"
    busy=0
    for round in 1 2 3; do
        (cp -r /tree "/mnt/tree$round" && sync && echo done >"/tmp/copied$round") 2>>/tmp/log.copy &
        sleep 1
        kill -9 $server
        [ -e "/tmp/copied$round" ] || busy=$((busy + 1))
        wait $server
        serve "taken over" --recover 0 --overlay /overlay
        left=600
        while [ ! -e "/tmp/copied$round" ]; do
            left=$((left - 1))
            [ $left -gt 0 ] || fail "files are not written: $(cat /tmp/log.copy)"
            sleep 0.1
        done
        echo 3 >/proc/sys/vm/drop_caches
        diff -r /tree "/mnt/tree$round" || fail "what was written in round $round differs"
        [ "$round" -eq 3 ] || rm -r "/mnt/tree$round"
    done
    [ $busy -ge 1 ] || fail "no server was killed while files were written"
    fstrim /mnt 2>/dev/null
    umount /mnt
    e2fsck -fn /dev/ublkb0 >/tmp/log1 2>&1 || fail "the file system is not whole"
    stop
    serve "at /dev/ublkb0$" --overlay /overlay
    e2fsck -fn /dev/ublkb0 >/tmp/log1 2>&1 || fail "the file system is not whole after a new start"
    mount -t ext4 -o ro /dev/ublkb0 /mnt || fail "it cannot be mounted again"
    diff -r /tree/docs /mnt/tree3/docs || fail "files differ after a new start"
    umount /mnt
    stop
    dmesg | grep -E 'I/O error|WARNING|BUG' && fail "the kernel complains"
    say "a disk that is written: mkfs.ext4, three copies of the tree, in $busy of which the server was killed, e2fsck, a new start"
    rm /overlay
else
    say "without a disk that is written: there is no mkfs.ext4"
fi

# An image of which some bytes are not what they were: what they belong to cannot be read, and all else can.
mv /disk.img.zst /good
cp /good /disk.img.zst
dd if=/dev/zero of=/disk.img.zst bs=1 seek=$(($(stat -c %s /good) / 3)) count=64 conv=notrunc 2>/dev/null
serve "at /dev/ublkb0$"
refused_reads=0; place=0
while read -r want; do
    if dd if=/dev/ublkb0 of=/tmp/part iflag=direct bs=256k skip=$place count=1 2>/dev/null; then
        got=$(sha256sum </tmp/part)
        [ "${got%% *}" = "$want" ] || fail "wrong bytes of a damaged image at place $place"
    else
        refused_reads=$((refused_reads + 1))
    fi
    place=$((place + 1))
done </sums
[ $refused_reads -ge 1 ] && [ $refused_reads -le 2 ] || fail "$refused_reads reads of a damaged image failed"
grep -q "block at byte" /tmp/log || fail "nobody says which block is damaged: $(cat /tmp/log)"
stop
say "a damaged image: $refused_reads of $place reads failed, and the others are right"

# An image as it is, whose length is no number of sectors.
mv /other.img /disk.img.zst
serve "at /dev/ublkb0$" --format raw
dd if=/dev/ublkb0 iflag=direct bs=64k 2>/dev/null >/tmp/part
head -c 1000000 /tmp/part | cmp - /disk.img.zst || fail "a raw image differs"
[ "$(tail -c +1000001 /tmp/part | tr -d '\0' | wc -c)" -eq 0 ] && [ "$(stat -c %s /tmp/part)" -eq 1000448 ] ||
    fail "a raw image does not end with zeros"
stop
say "a raw image of 1000000 bytes"
end "passed"
