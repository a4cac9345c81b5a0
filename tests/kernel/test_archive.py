"""The zip form: readable by anybody, and not one byte of it other than what its members make it."""

import io
import struct
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.archive import Member, Span, read_archive, read_span, write_archive
from assay.kernel.errors import BadInput, MalformedDocument, MissingMaterial

FILES = {"manifest.json": b"{}\n", "logs/rows.jsonl": b"one\ntwo\n", "empty": b"", "a/b/c.bin": bytes(range(256))}
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(/[a-z0-9]{1,5}){0,3}", fullmatch=True)


def members(files):
    return [
        Member(path=path, size=len(data), crc=zlib.crc32(data), chunks=lambda data=data: (data,))
        for path, data in files.items()
    ]


def pack(files):
    out = io.BytesIO()
    write_archive(out, members(files))
    return out.getvalue()


@pytest.fixture
def read(tmp_path):
    """Writes some bytes down and reads them as an archive."""

    def run(data):
        path = tmp_path / "bundle.zip"
        path.write_bytes(data)
        return {name: b"".join(read_span(span)) for name, span in read_archive(path).items()}

    return run


def zipped(*infos, compression=zipfile.ZIP_STORED, comment=b""):
    """What the standard library makes of some (name or ZipInfo, data) pairs."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for info, data in infos:
            archive.writestr(info, data)
        archive.comment = comment
    return out.getvalue()


class TestRoundTrip:
    def test_what_was_written_is_read(self, read):
        assert read(pack(FILES)) == FILES
        assert list(read(pack(FILES))) == list(FILES)

    def test_no_members(self, read):
        assert read(pack({})) == {}

    def test_the_standard_library_reads_it(self):
        with zipfile.ZipFile(io.BytesIO(pack(FILES))) as archive:
            assert archive.testzip() is None
            assert {info.filename: archive.read(info) for info in archive.infolist()} == FILES
            for info in archive.infolist():
                assert info.date_time == (1980, 1, 1, 0, 0, 0)
                assert info.compress_type == zipfile.ZIP_STORED
                assert info.external_attr >> 16 == 0o100644

    def test_the_same_files_make_the_same_bytes(self):
        assert pack(FILES) == pack(dict(FILES))
        assert pack(FILES) != pack(dict(reversed(FILES.items())))

    def test_chunks_may_be_cut_anywhere(self, read):
        out = io.BytesIO()
        chunks = [bytes([byte]) for byte in FILES["a/b/c.bin"]]
        data = FILES["a/b/c.bin"]
        write_archive(out, [Member(path="a", size=len(data), crc=zlib.crc32(data), chunks=lambda: iter(chunks))])
        assert out.getvalue() == pack({"a": data})

    @given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=6))
    def test_any_files(self, tmp_path_factory, files):
        path = tmp_path_factory.mktemp("archive") / "x.zip"
        path.write_bytes(pack(files))
        assert {name: b"".join(read_span(span)) for name, span in read_archive(path).items()} == files

    def test_a_large_file_is_read_in_chunks(self, tmp_path):
        data = bytes(range(256)) * 4096 * 3 + b"x"
        path = tmp_path / "x.zip"
        path.write_bytes(pack({"a": data}))
        chunks = list(read_span(read_archive(path)["a"]))
        assert [len(chunk) for chunk in chunks] == [1 << 20] * 3 + [1]
        assert b"".join(chunks) == data


class TestLimits:
    """Nothing here writes the bytes that it speaks of."""

    class Sink:
        def write(self, data):
            return len(data)

    def test_more_than_a_zip_can_name(self):
        big = Member(path="a", size=2**32 - 40, crc=0, chunks=tuple)
        write_archive(self.Sink(), [big])
        for sizes in ([2**32], [2**40], [2**31, 2**31], [2**32 - 30]):
            each = [Member(path=f"m{n}", size=size, crc=0, chunks=tuple) for n, size in enumerate(sizes)]
            with pytest.raises(BadInput, match="too large for one zip"):
                write_archive(self.Sink(), each)

    def test_more_files_than_a_zip_can_name(self):
        many = [Member(path=f"m{n}", size=0, crc=0, chunks=tuple) for n in range(65536)]
        write_archive(self.Sink(), many[:-1])
        with pytest.raises(BadInput, match="too large for one zip"):
            write_archive(self.Sink(), many)


class TestEveryByte:
    def test_no_flipped_byte_is_accepted(self, read):
        data = pack({"m.json": b"{}", "a/b": b"xyz"})
        for index in range(len(data)):
            for mask in (0x01, 0x80, 0xFF):
                spoilt = data[:index] + bytes([data[index] ^ mask]) + data[index + 1 :]
                with pytest.raises(MalformedDocument):
                    read(spoilt)

    def test_no_cut_is_accepted(self, read):
        data = pack({"m.json": b"{}", "a/b": b"xyz"})
        for length in range(len(data)):
            with pytest.raises(MalformedDocument):
                read(data[:length])

    @pytest.mark.parametrize("junk", [b"\0", b"#!/bin/sh\n", b"PK\x05\x06" + bytes(18)], ids=["byte", "script", "end"])
    def test_nothing_lies_around_it(self, read, junk):
        data = pack(FILES)
        for spoilt in (junk + data, data + junk):
            with pytest.raises(MalformedDocument):
                read(spoilt)

    def test_nothing_lies_between_members(self, read):
        first, second = pack({"a": b"1"}), pack({"b": b"2"})
        directory = first.index(b"PK\x01\x02")
        for junk in (b"\0", first):
            with pytest.raises(MalformedDocument):
                read(first[:directory] + junk + second)

    def test_two_archives_in_a_row(self, read):
        with pytest.raises(MalformedDocument):
            read(pack(FILES) + pack(FILES))


def forge(entries, count=None):
    """An archive whose names and sizes are whatever they are said to be: (name, data, overrides of the directory)."""
    body, directory = b"", b""
    for name, data, changed in entries:
        fields = {"crc": zlib.crc32(data), "packed": len(data), "size": len(data), "method": 0, "attributes": None}
        fields |= changed
        raw = name if isinstance(name, bytes) else name.encode()
        offset = fields.pop("offset", len(body))
        attributes = 0o100644 << 16 if fields["attributes"] is None else fields["attributes"]
        sizes = (fields["crc"], fields["packed"], fields["size"], len(raw))
        fixed = (b"PK\x01\x02", 788, 20, 0, fields["method"], 0, 33)
        directory += struct.pack("<4s6H3I5H2I", *fixed, *sizes, 0, 0, 0, 0, attributes, offset) + raw
        body += struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, fields["method"], 0, 33, *sizes, 0) + raw + data
    number = len(entries) if count is None else count
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, number, number, len(directory), len(body), 0)
    return body + directory + end


class TestForgeries:
    def test_the_forger_can_write_a_sound_one(self, read):
        data = forge([("a", b"1", {}), ("b/c", b"22", {})])
        assert data == pack({"a": b"1", "b/c": b"22"})
        assert read(data) == {"a": b"1", "b/c": b"22"}

    @pytest.mark.parametrize(
        "name",
        [
            "",
            ".",
            "..",
            "../a",
            "a/../../b",
            "/etc/passwd",
            "a\\b",
            "..\\a",
            "C:\\a",
            "C:a",
            "a/",
            "a//b",
            ".a",
            "a\0b",
            "a b",
            "a\n",
            b"\xff",
            "\u00e9",
            "x" * 300,
            "1/2/3/4/5/6/7/8/9",
        ],
    )
    def test_names_that_leave_the_bundle(self, read, name):
        with pytest.raises(MalformedDocument, match="does not stay inside"):
            read(forge([("a0", b"1", {}), (name, b"2", {})]))

    def test_one_name_twice(self, read):
        with pytest.raises(MalformedDocument, match="there twice"):
            read(forge([("a", b"1", {}), ("a", b"2", {})]))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"attributes": 0o120777 << 16}, "directory is not the one"),
            ({"attributes": 0o100755 << 16}, "directory is not the one"),
            ({"attributes": 0}, "directory is not the one"),
            ({"method": 8}, "compressed"),
            ({"packed": 1}, "compressed"),
            ({"size": 2**32 - 1}, "compressed"),
            ({"size": 2**32 - 1, "packed": 2**32 - 1}, "beyond its place"),
            ({"size": 3, "packed": 3}, "beyond its place|stored as"),
            ({"size": 1, "packed": 1}, "stored as"),
            ({"crc": 0}, "stored as"),
            ({"offset": 0}, "directory is not the one"),
            ({"offset": 2**32 - 1}, "directory is not the one"),
        ],
        ids=str,
    )
    def test_members_that_are_not_what_they_say(self, read, changed, message):
        with pytest.raises(MalformedDocument, match=message):
            read(forge([("a", b"1", {}), ("b", b"22", changed)]))

    def test_members_that_overlap(self, read):
        """Two names for one stretch of bytes: what makes a small file unpack to a huge one."""
        inner = forge([("a", b"1", {})])
        with pytest.raises(MalformedDocument):
            read(forge([("a", b"1", {}), ("b", b"", {"offset": 0})]))
        with pytest.raises(MalformedDocument):
            read(forge([("outer", inner, {}), ("a", b"1", {"offset": 35})]))

    @pytest.mark.parametrize("count", [0, 1, 3, 65535])
    def test_a_count_that_is_wrong(self, read, count):
        with pytest.raises(MalformedDocument):
            read(forge([("a", b"1", {}), ("b", b"2", {})], count=count))


class TestOtherTools:
    def test_a_plain_zip_of_the_standard_library(self, read):
        with pytest.raises(MalformedDocument, match="unpack it and verify the folder"):
            read(zipped(("a", b"1"), ("b", b"2")))

    def test_a_bomb(self, read):
        bomb = zipped(("a", bytes(20 << 20)), compression=zipfile.ZIP_DEFLATED)
        assert len(bomb) < 100_000
        with pytest.raises(MalformedDocument, match="compressed"):
            read(bomb)

    def test_a_link(self, read):
        info = zipfile.ZipInfo("link", (1980, 1, 1, 0, 0, 0))
        info.create_system = 3
        info.external_attr = 0o120777 << 16
        with pytest.raises(MalformedDocument):
            read(zipped((info, b"/etc/passwd")))

    def test_a_comment(self, read):
        with pytest.raises(MalformedDocument):
            read(zipped(("a", b"1"), comment=b"hello"))

    def test_a_folder_entry(self, read):
        with pytest.raises(MalformedDocument):
            read(zipped(("a/", b"")))

    @pytest.mark.parametrize("data", [b"", b"PK", b"x" * 22, b"PK\x05\x06" + b"\xff" * 18, bytes(1000)])
    def test_what_is_no_zip(self, read, data):
        with pytest.raises(MalformedDocument):
            read(data)


class TestFiles:
    def test_a_file_that_cannot_be_read(self, tmp_path):
        with pytest.raises(MissingMaterial, match="cannot read"):
            read_archive(tmp_path / "absent.zip")
        with pytest.raises(MissingMaterial, match="cannot read"):
            read_archive(tmp_path)
        with pytest.raises(MissingMaterial, match="cannot read"):
            list(read_span(Span(tmp_path / "absent", 0, 1)))

    def test_a_file_that_becomes_shorter(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(b"123")
        with pytest.raises(MissingMaterial, match="shorter"):
            list(read_span(Span(path, 0, 4)))
        assert list(read_span(Span(path, 1, 2))) == [b"23"]
        assert list(read_span(Span(path, 3, 0))) == []
