"""Graphs as values."""

import pathlib
import pickle

import pytest

import evener as ev

MARK = str(pathlib.Path(__file__).parents[2] / "crates/media/image/tests/fixtures/mark.pam")


def test_operators_make_the_text_of_the_command():
    graph = ev.blur().sobel().threshold(0.25)
    assert str(graph) == "blur,sobel,threshold=t=0.25:keep=above"
    assert graph == ev.graph(" blur, sobel ,threshold=0.25")
    assert graph != ev.blur()
    assert hash(graph) == hash(ev.graph(str(graph)))
    assert repr(graph) == "evener.graph('blur,sobel,threshold=t=0.25:keep=above')"
    assert eval(repr(graph), {"evener": ev}) == graph
    assert {graph: 1}[ev.graph(str(graph))] == 1


def test_every_filter_of_the_table_is_an_operator():
    given = {"rotate": (12,), "flip": ("h",), "resize": (64, 48), "crop": (0.5,), "overlay": (MARK,)}
    for entry in ev.filters():
        args = given.get(entry["name"], ())
        for name in [entry["name"], *entry["aliases"]]:
            alone = getattr(ev, name)(*args)
            after = getattr(ev.blur(), name)(*args)
            assert str(after) == f"blur,{alone}"
            assert entry["about"][1:] in getattr(ev, name).__doc__


def test_arguments_by_place_and_by_name():
    assert ev.crop(640, 480, 8, 4) == ev.crop(w=640, h=480, x=8, y=4) == ev.graph("crop=640:480:8:4")
    assert ev.threshold(keep="below") == ev.graph("threshold=keep=below")
    assert ev.crop(w="iw/2", h=100) == ev.graph("crop=w=iw/2:h=100")
    assert ev.resize(-2, "ih/2").hflip() == ev.graph("resize=-2:ih/2,hflip")
    assert ev.scale(w=640) == ev.graph("scale=640")
    assert ev.undistort(k2=0.01) == ev.graph("undistort=k2=0.01")


@pytest.mark.parametrize(
    "make, error, says",
    [
        (lambda: ev.graph("blurr"), ev.GraphError, "did you mean `blur`"),
        (lambda: ev.graph(""), ValueError, "empty"),
        (lambda: ev.threshold("a,b"), ev.GraphError, "one of , : ="),
        (lambda: ev.rotate(), TypeError, "degrees"),
        (lambda: ev.rotate(degrees=None), ev.GraphError, "missing"),
        (lambda: ev.rotate(True), TypeError, "number or a str"),
        (lambda: ev.rotate(float("nan")), ev.GraphError, "finite"),
        (lambda: ev.blur().flip("x"), ev.GraphError, "give one of"),
        (lambda: ev.blur().then(3), TypeError, "str"),
        (lambda: ev.blur().open(0, 4), ev.FrameError, "above 0"),
        (lambda: ev.blur().open(4, 4, "f64"), ValueError, "give u8"),
        (lambda: ev.crop(640, 480, 0, 0).open(4, 4), ev.GraphError, "crop"),
        (lambda: ev.blur().open(4, 4, plan="fast"), ValueError, "plan"),
        (lambda: ev.blur().open(4, 4, workers=0), ValueError, "workers"),
        (lambda: ev.blur().open(4, 4, planes="all"), ValueError, "planes"),
    ],
)
def test_what_is_wrong_is_said(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_graphs_are_immutable_and_can_be_pickled():
    graph = ev.blur()
    graph.sobel()
    assert str(graph) == "blur"
    assert pickle.loads(pickle.dumps(graph)) == graph
    with pytest.raises(AttributeError):
        graph.text = "sobel"


def test_explanations_are_of_shapes_and_of_frames(noise):
    text = ev.blur().resize(32, 24).explain((100, 48, 64))
    assert "64x48 mono 8 bits" in text and "32x24" in text and "a tile of" in text
    assert ev.blur().explain(noise((48, 64))) == ev.blur().explain((48, 64))
    assert "rgb" in ev.blur().explain((48, 64, 3)) and "each" in ev.blur().explain((48, 64, 3))
    assert "10 bits" in ev.blur().explain((48, 64), dtype="uint16")
