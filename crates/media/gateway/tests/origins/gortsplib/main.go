// A server of RTSP by gortsplib: it has what a publisher records, at any path. It prints its port.
package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/bluenviron/gortsplib/v4"
	"github.com/bluenviron/gortsplib/v4/pkg/base"
	"github.com/bluenviron/gortsplib/v4/pkg/description"
	"github.com/bluenviron/gortsplib/v4/pkg/format"
	"github.com/pion/rtp"
)

type origin struct {
	server *gortsplib.Server
	mutex  sync.Mutex
	stream *gortsplib.ServerStream
}

func status(code base.StatusCode) *base.Response {
	return &base.Response{StatusCode: code}
}

func (o *origin) current() *gortsplib.ServerStream {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.stream
}

func (o *origin) OnDescribe(*gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	stream := o.current()
	if stream == nil {
		return status(base.StatusNotFound), nil, nil
	}
	return status(base.StatusOK), stream, nil
}

func (o *origin) OnAnnounce(ctx *gortsplib.ServerHandlerOnAnnounceCtx) (*base.Response, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.stream = gortsplib.NewServerStream(o.server, ctx.Description)
	return status(base.StatusOK), nil
}

func (o *origin) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if ctx.Session.State() == gortsplib.ServerSessionStatePreRecord {
		return status(base.StatusOK), nil, nil
	}
	return status(base.StatusOK), o.current(), nil
}

func (o *origin) OnPlay(*gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	return status(base.StatusOK), nil
}

func (o *origin) OnRecord(ctx *gortsplib.ServerHandlerOnRecordCtx) (*base.Response, error) {
	ctx.Session.OnPacketRTPAny(func(media *description.Media, _ format.Format, packet *rtp.Packet) {
		_ = o.current().WritePacketRTP(media, packet)
	})
	return status(base.StatusOK), nil
}

func (o *origin) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	if ctx.Session.AnnouncedDescription() != nil {
		o.current().Close()
	}
}

func main() {
	o := &origin{}
	// RTP wants an even port, and RTCP the next.
	for port := 20000 + 2*(os.Getpid()%10000); ; port += 2 {
		address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
		o.server = &gortsplib.Server{
			Handler:        o,
			RTSPAddress:    address(port),
			UDPRTPAddress:  address(port),
			UDPRTCPAddress: address(port + 1),
		}
		if o.server.Start() == nil {
			fmt.Println(port)
			break
		}
	}
	// It ends with the test.
	_, _ = os.Stdin.Read(make([]byte, 1))
}
