"""A video file through filters and the encoder."""

import evener as ev

steady = ev.undistort(k1=-0.1).rotate(6).crop(0.8)

report = ev.read("testsrc:320x240:60").pipe(steady).write("steady.y4m", progress=print)
print(report)

report = ev.encode("steady.y4m", "steady.264", preset="fast", crf=26)
print(report)
print(report.to_dict()["encoded"])
