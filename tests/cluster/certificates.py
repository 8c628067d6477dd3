"""Certificates for tests: an authority and what it signs, made in a moment and valid for an hour."""

import datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class TlsFiles(NamedTuple):
    """PEM files of one authority and one certificate that it signed."""

    ca_file: Path
    cert_file: Path
    key_file: Path

    def settings(self) -> dict[str, str]:
        """As settings of a cluster of kind "address"."""
        return {f"tls_{name}": str(file) for name, file in self._asdict().items()}

    def arguments(self) -> list[str]:
        """As arguments of `dask scheduler` and `dask worker`."""
        return [
            f"--tls-{option}={file}"
            for option, file in (("ca-file", self.ca_file), ("cert", self.cert_file), ("key", self.key_file))
        ]


def make_certificates(folder: Path) -> TlsFiles:
    """A new authority, and a certificate of its own."""
    folder.mkdir()
    files = TlsFiles(*(folder / name for name in ("ca.pem", "cert.pem", "key.pem")))
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("authority", ca_key.public_key(), "authority", ca_key, is_authority=True)
    certificate = _certificate("pipeline", key.public_key(), "authority", ca_key, is_authority=False)
    files.ca_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files.key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def _certificate(
    subject: str,
    public_key: ec.EllipticCurvePublicKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_authority: bool,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
