import hashlib
import os
import subprocess

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


class WrongPassphrase(Exception):
    pass


def derive_key(passphrase: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=2**26, dklen=32)


def seal(key: bytes, plain: bytes, context: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, context)


def unseal(key: bytes, blob: bytes, context: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(blob[:12], blob[12:], context)
    except InvalidTag:
        raise WrongPassphrase from None


def ask_passphrase(command: str | None) -> str:
    if command:
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.rstrip("\n")
    import getpass

    return getpass.getpass("Passphrase: ")
