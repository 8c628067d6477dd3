"""Films as arrays, decoded by ffmpeg: imageio-ffmpeg's own reader leaves pipes open, which is an error in our tests."""

import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np

from pipeline.types import UInt8Array


def read_film(path: Path) -> UInt8Array:
    """All pictures (N, H, W, 3) of a film, as many as there are in the file, none repeated."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path), "-fps_mode", "passthrough"]
    pipe = subprocess.run([*command, "-f", "image2pipe", "-c:v", "ppm", "-"], capture_output=True, check=True)
    # Each picture as a PPM: "P6\n<width> <height>\n255\n", then its bytes.
    width, height = (int(word) for word in pipe.stdout.split(b"\n", 2)[1].split())
    num_header_bytes = len(f"P6\n{width} {height}\n255\n")
    pictures = np.frombuffer(pipe.stdout, np.uint8).reshape(-1, num_header_bytes + height * width * 3)
    return pictures[:, num_header_bytes:].reshape(-1, height, width, 3)


def seconds_of(path: Path) -> float:
    """How long a film says that it lasts."""
    said = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)], capture_output=True, text=True).stderr
    hours, minutes, seconds = said.partition("Duration: ")[2].partition(",")[0].split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
