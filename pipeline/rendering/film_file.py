"""Pictures into an MP4 or GIF file, one by one, by the ffmpeg program that the package imageio-ffmpeg brings.

Not here: which pictures (`pipeline.rendering.film`, `pipeline.rendering.overlay`).
"""

import subprocess
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pipeline.errors import PipelineError
from pipeline.types import UInt8Array
from pipeline.whole_file import whole_path

# MP4: quality 18 is near lossless for flat colours; 4:2:0 is what every browser plays. GIF: a palette for each picture,
# since the game's colours and the overlay's are fewer than 256 in one picture, not in a whole film.
_ENCODERS = {
    ".mp4": ["-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart"],
    ".gif": ["-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none"],
}

SUFFIXES = tuple(_ENCODERS)
"""What files there can be."""


def write_film(path: Path, pictures: Iterable[UInt8Array], fps: float) -> int:
    """Write pictures (H, W, 3), all of one size, H and W even; returns their number.

    The file is written whole or not at all: if `pictures` raises, or the disk is full, an older file stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_path(path) as temporary:
        return _encode(path, temporary, iter(pictures), fps)


def _encode(path: Path, temporary: Path, pictures: Iterator[UInt8Array], fps: float) -> int:
    import imageio_ffmpeg  # its names of files are asked for by commands that write none

    first = next(pictures)
    height, width = first.shape[:2]
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-",
        # A colon in a name would be taken for a protocol.
        *_ENCODERS[path.suffix], f"file:{temporary}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as encoder:
        assert encoder.stdin is not None
        count = 0
        try:
            for picture in chain([first], pictures):
                encoder.stdin.write(picture.tobytes())
                count += 1
        except BrokenPipeError:
            pass  # it has given up, and says why below
        except BaseException:
            encoder.kill()
            raise
        _, said = encoder.communicate()
    if encoder.returncode != 0:
        raise PipelineError(f"{path}: ffmpeg could not write it: {said.decode(errors='replace').strip()}")
    return count
