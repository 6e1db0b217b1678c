"""Descriptions that cannot be read: a clear error each, with file and line, and never a robot."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest

import appell

MASS = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
SOUND = (
    f"<robot name='r'>\n<link name='a'/>\n<link name='b'>{MASS}</link>\n"
    "<joint name='j' type='revolute'><parent link='a'/><child link='b'/></joint>\n</robot>\n"
)

BOMB = (
    "<?xml version='1.0'?>\n<!DOCTYPE robot [\n<!ENTITY a0 'ha'>\n"
    + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>\n" for i in range(1, 12))
    + "]>\n<robot name='&a11;'/>"
)
QUADRATIC = f"<!DOCTYPE robot [<!ENTITY a '{'x' * 100_000}'>]><robot name='r'>{'&a;' * 10_000}</robot>"


def refused(source, message: str, line: int | None = None) -> appell.ModelError:
    with pytest.raises(appell.ModelError, match=message) as caught:
        appell.load(source)
    if line is not None:
        (problem,) = caught.value.problems
        assert problem.line == line
        assert f"line {line}" in str(caught.value) or f":{line})" in str(caught.value)
    return caught.value


# --- hostile XML --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "bytes", "file"])
@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        QUADRATIC,
        "<!DOCTYPE robot SYSTEM 'http://localhost:1/evil.dtd'>\n<robot name='r'/>",
        "<!DOCTYPE robot [<!ENTITY secret SYSTEM 'file:///etc/hostname'>]>\n<robot name='r'><link name='&secret;'/></robot>",
        "<!DOCTYPE robot [<!ENTITY % remote SYSTEM 'file:///etc/hostname'> %remote;]>\n<robot name='r'/>",
        "<!DOCTYPE robot>" + SOUND,
        "<!-- a comment first -->\n<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco/>",
    ],
    ids=["bomb", "quadratic", "external dtd", "external entity", "parameter entity", "bare doctype", "mjcf"],
)
def test_document_types_are_refused_before_anything_is_expanded(text, form, tmp_path):
    path = tmp_path / "evil.urdf"
    path.write_text(text)
    source = {"text": text, "bytes": text.encode(), "file": path}[form]
    start = time.perf_counter()
    error = refused(source, "a document type declaration .DOCTYPE. is not allowed")
    assert time.perf_counter() - start < 1.0
    assert error.problems[0].kind == "xml"
    assert [problem.kind for problem in appell.check(source)] == ["xml"]


def test_a_doctype_in_another_encoding_is_refused_too(tmp_path):
    path = tmp_path / "evil.urdf"
    path.write_bytes(BOMB.replace("<?xml version='1.0'?>", "<?xml version='1.0' encoding='utf-16'?>").encode("utf-16"))
    refused(path, "DOCTYPE")


def test_entities_without_a_doctype_are_undefined():
    refused(SOUND.replace("'j'", "'&secret;'"), "broken XML: Entity 'secret' not defined", line=4)


def test_includes_of_xml_are_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    path = tmp_path / "robot.urdf"
    include = "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='secret' parse='text'/>"
    path.write_text(SOUND.replace("</robot>", include + "</robot>"))
    assert appell.load(path) == appell.load(SOUND)


def test_absurd_nesting_is_refused():
    refused("<robot name='r'>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>", "broken XML: .*depth")


# --- broken XML ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SOUND[:-9], 5),
        (SOUND[: SOUND.index("<child")], 4),
        (SOUND[: SOUND.index("iyy") + 6], 3),
        (SOUND.replace("<link name='a'/>", "<link name='a'>"), 5),
        (SOUND.replace("name='a'", "name='a' name='b'"), 2),
        (SOUND.replace("name='a'", "name=a"), 2),
        (SOUND.replace("<link name='a'/>", "<link name='a'/> & "), 2),
    ],
    ids=[
        "cut at the end",
        "cut in a joint",
        "cut in a number",
        "not closed",
        "attribute twice",
        "no quotes",
        "ampersand",
    ],
)
def test_broken_text_names_its_line(text, line):
    refused(text, "broken XML", line=line)


@pytest.mark.parametrize("size", range(1, len(SOUND) - 1, 7))
def test_no_truncated_file_loads(size, tmp_path):
    """Wherever a download stops, there is an error and no robot."""
    path = tmp_path / "cut.urdf"
    path.write_text(SOUND[:size])
    error = refused(path, "not XML|broken XML")
    assert error.place.startswith("cut.urdf")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not XML: no element found"),
        (b"   \n", "not XML"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "not XML: not well-formed"),
        (b"\x00" * 100, "not XML"),
        (bytes(range(256)), "not XML"),
        (b"solid cube\nfacet normal 0 0 1\n", "not XML"),
        (b"<?xml version='1.0' encoding='no-such-code'?><robot name='r'/>", "not XML: unknown encoding"),
        (b"<html><body>404</body></html>", "the root element is <html>, expected <robot> .URDF., <sdf> or <mujoco>"),
        (b"<sdf version='1.6'/>", "there is no <model>"),
        (b"<robot name='r'/>", "there are no links"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "a pointer of Git LFS"),
    ],
    ids=[
        "empty",
        "blank",
        "program",
        "zeros",
        "bytes",
        "mesh",
        "unknown code",
        "web page",
        "sdf",
        "no links",
        "pointer",
    ],
)
def test_files_that_are_no_robots(data, message, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(data)
    error = refused(path, message)
    assert "robot.urdf" in str(error)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_other_encodings_are_read(encoding, tmp_path):
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    path = tmp_path / "robot.urdf"
    text = f"<?xml version='1.0' encoding='{declared}'?>\n" + SOUND.replace("'b'", "'bü'")
    path.write_bytes(text.encode(encoding))
    assert appell.load(path).body_names == ("a", "bü")


def test_text_may_begin_with_anything_that_means_nothing():
    declared = "<?xml version='1.0' encoding='utf-16'?>"  # of the file it came from, not of this text
    for start in ("\n\n", "\ufeff", f"\n  {declared}\n", declared):
        robot = appell.load(start + SOUND)
        assert robot == appell.load(SOUND)
        assert robot.body("a").line == 2 + start.count("\n")


# --- sources ------------------------------------------------------------------------------------------------------------


def test_every_form_of_source_gives_the_same_robot(tmp_path, monkeypatch):
    path = tmp_path / "robot.urdf"
    path.write_text(SOUND)
    monkeypatch.chdir(tmp_path)
    robots = [
        appell.load(source) for source in (path, str(path), "robot.urdf", Path("robot.urdf"), SOUND, SOUND.encode())
    ]
    assert all(robot == robots[0] for robot in robots)


def test_what_other_software_accepts(tmp_path):
    """Blank lines before the declaration, hyphens in comments, bytes that are not UTF-8, a wrong declaration."""
    path = tmp_path / "robot.urdf"
    for declared in ("", "\n <?xml version='1.0'?>", "<?xml version='1.0' encoding='UTF-16'?>"):
        path.write_bytes((declared + "\n<!-- a -- b --->" + SOUND.replace("'b'", "'bü'")).encode("cp1252"))
        assert appell.load(path).body_names[1] == "bü"


def test_sources_that_are_not_there(tmp_path):
    refused(tmp_path / "missing.urdf", r"the file '.*missing.urdf' does not exist. Built-in robots: puma560")
    refused("missing.urdf", "the file 'missing.urdf' does not exist")
    refused("puma56", "there is no file 'puma56' and unknown built-in robot 'puma56'. Did you mean 'puma560'")
    refused(tmp_path, "is a directory. Give the URDF, SDF or MJCF file in it")
    refused("", r"'' is no path, XML text or name. Built-in robots: puma560")
    refused("x" * 5000, "cannot read")
    refused("a\0b", "cannot read")
    refused(3, "cannot load a robot from int: expected a path, XML text, a yourdfpy.URDF")
    refused(None, "cannot load a robot from NoneType")


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.urdf"
    path.write_text(SOUND)
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        refused(path, "cannot read .*Permission denied")
    else:
        pytest.skip("this user may read everything")


def test_a_file_with_the_name_of_a_built_in_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("puma560").write_text(SOUND)
    assert appell.load("puma560").nv == 6
    assert appell.load("./puma560").nv == appell.load(Path("puma560")).nv == 1


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"base": "flying"}, appell.ArgumentError, "unknown base 'flying'.* Valid: fixed"),
        ({"mimic": "maybe"}, appell.ArgumentError, "unknown mimic 'maybe'. Valid: couple, ignore"),
    ],
)
def test_options(options, kind, message):
    with pytest.raises(kind, match=message):
        appell.load(SOUND, **options)


def test_a_floating_root_must_meet_inertia():
    """Its turn about the axis of the only joint moves nothing that has mass."""
    with pytest.warns(appell.ModelWarning, match=r"joint 'root_joint': link 'a' moves with no inertia"):
        robot = appell.load(SOUND, base="floating")
    with pytest.raises(appell.ModelError, match="forward_dynamics needs mass, which is missing or negative: 'a'"):
        robot.forward_dynamics(robot.neutral_configuration(), [0.0] * 7, [0.0] * 7)
    assert appell.load(SOUND.replace("<link name='a'/>", f"<link name='a'>{MASS}</link>"), base="floating").nv == 7


# --- large files --------------------------------------------------------------------------------------------------------


def test_ten_megabytes_of_links_load_in_seconds():
    """As many joints as fit, half of them moving; lines beyond 65535, which libxml2 estimates, are still found."""
    parts = ["<robot name='big'>", f"<link name='l0'>{MASS}</link>"]
    size = 0
    while size < 10_000_000:
        i = len(parts) - 1
        kind = "revolute" if i % 2 else "fixed"
        drawing = (
            "<visual>\n<geometry>\n<mesh filename='package://nowhere/meshes/part.dae'/>\n</geometry>\n</visual>\n" * 12
        )
        parts.append(
            f"<link name='l{i}'>\n{MASS}\n{drawing}</link>\n<joint name='j{i}' type='{kind}'>\n"
            f"<origin xyz='0.1 0.2 0' rpy='0 0 1'/><parent link='l{i - 1}'/>\n"
            f"<child link='l{i}'/>\n<axis xyz='0 1 0'/>\n</joint>"
        )
        size += len(parts[-1])
    text = "\n".join([*parts, "</robot>"])
    assert len(text) > 10_000_000
    start = time.process_time()
    robot = appell.load(text)
    assert time.process_time() - start < 20.0
    assert len(robot.joints) == len(parts) - 2
    assert robot.nv == len(robot.joints) // 2 + len(robot.joints) % 2
    assert text.count("\n") > 65_535
    assert abs(robot.joints[-1].line - (text.count("\n") - 4)) <= 2


def test_ten_megabytes_of_comments_load_at_once():
    comment = "<!-- " + "nothing to see here " * 50_000 + "-->\n"
    text = SOUND.replace("<link name='a'/>", comment * 10 + "<link name='a'/>")
    assert len(text) > 10_000_000
    start = time.process_time()
    assert appell.load(text) == appell.load(SOUND)
    assert time.process_time() - start < 5.0


def test_the_error_of_a_large_file_is_not_large():
    links = "".join(f"<link name='l{i}'>{MASS}</link>" for i in range(5000))
    with pytest.raises(appell.ModelError, match="5000 links have no parent joint") as caught:
        appell.load(f"<robot name='r'>{links}</robot>")
    assert len(str(caught.value)) < 1000


def test_nothing_is_said_twice():
    text = SOUND.replace("izz='1'", "izz='9'")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        appell.load(text)
    assert len(caught) == 1
    assert str(caught[0].message).count("triangle") == 1
