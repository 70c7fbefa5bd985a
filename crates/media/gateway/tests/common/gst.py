"""Origins by gst-rtsp-server: /live and /tcp, which has no datagrams; and /digest for the user "me" with the password "secret".
Arguments are more of them in pairs: a path, and what makes the packets."""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

Gst.init(None)
LAUNCH = (
    "( audiotestsrc is-live=true samplesperbuffer=160 ! audio/x-raw,rate=8000,channels=1 ! mulawenc ! rtppcmupay name=pay0 pt=0"
    "  audiotestsrc is-live=true samplesperbuffer=160 ! audio/x-raw,rate=8000,channels=1 ! alawenc ! rtppcmapay name=pay1 pt=8 )"
)


def factory(launch=LAUNCH):
    made = GstRtspServer.RTSPMediaFactory()
    made.set_launch(launch)
    return made


def origin():
    made = GstRtspServer.RTSPServer()
    made.set_address("127.0.0.1")
    made.set_service("0")
    return made


everyone = origin()
everyone.get_mount_points().add_factory("/live", factory())
tcp = factory()
tcp.set_protocols(GstRtsp.RTSPLowerTrans.TCP)
everyone.get_mount_points().add_factory("/tcp", tcp)

for path, launch in zip(sys.argv[1::2], sys.argv[2::2]):
    everyone.get_mount_points().add_factory(path, factory(launch))

users = origin()
digest = factory()
permissions = GstRtspServer.RTSPPermissions()
for permission in ("media.factory.access", "media.factory.construct"):
    permissions.add_permission_for_role("user", permission, True)
digest.set_permissions(permissions)
users.get_mount_points().add_factory("/digest", digest)
auth = GstRtspServer.RTSPAuth()
auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
token = GstRtspServer.RTSPToken()
token.set_string("media.factory.role", "user")
auth.add_digest("me", "secret", token)
users.set_auth(auth)

for server in (everyone, users):
    server.attach(None)
print(everyone.get_bound_port(), users.get_bound_port(), flush=True)
# It ends with the test.
GLib.io_add_watch(sys.stdin.fileno(), GLib.IO_HUP, lambda *_: sys.exit(0))
GLib.MainLoop().run()
