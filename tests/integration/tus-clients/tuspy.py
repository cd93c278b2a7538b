"""tuspy against a running server: tuspy.py URL KEY_FILE

Prints a line "upload-id sha256-of-the-file" for each upload that ended; exit code 1 if one did not.
"""

import asyncio
import hashlib
import io
import os
import socket
import sys
import threading
import traceback
from urllib.parse import urlparse

import requests
from tusclient import client, exceptions

BASE, KEY_FILE = sys.argv[1:3]
with open(KEY_FILE) as file:
    HEADERS = {"Authorization": "Bearer " + file.read().strip()}
ENDPOINT = BASE + "/v1/uploads"


def tus(url=ENDPOINT):
    return client.TusClient(url, headers=HEADERS)


def offset_of(url):
    answer = requests.head(url, headers={**HEADERS, "Tus-Resumable": "1.0.0"}, timeout=120)
    return int(answer.headers["Upload-Offset"]) if answer.status_code == 200 else -answer.status_code


def ended(uploader, data):
    assert offset_of(uploader.url) == len(data), "not all bytes arrived"
    print(uploader.url.rsplit("/", 1)[1], hashlib.sha256(data).hexdigest(), flush=True)


class BrokenNetwork:
    """Passes connections on and cuts each one after some bytes of the request."""

    def __init__(self, target, cuts):
        to = urlparse(target)
        self.to = (to.hostname, to.port)
        self.cuts = cuts
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(self.to)
            except OSError:
                near.close()
                continue
            left = self.cuts.pop(0) if self.cuts else sys.maxsize
            threading.Thread(target=self.copy, args=(near, far, left), daemon=True).start()
            threading.Thread(target=self.copy, args=(far, near, sys.maxsize), daemon=True).start()

    @staticmethod
    def copy(source, sink, left):
        try:
            while left > 0 and (data := source.recv(min(left, 16384))):
                sink.sendall(data)
                left -= len(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def in_chunks():
    data = os.urandom(700_001)
    uploader = tus().uploader(file_stream=io.BytesIO(data), chunk_size=256 * 1024,
                              metadata={"filename": "a b.fw", "kind": "session"})
    uploader.upload()
    ended(uploader, data)


def with_checksums():
    data = os.urandom(900_000)
    uploader = tus().uploader(file_stream=io.BytesIO(data), chunk_size=300_000, upload_checksum=True)
    uploader.upload()
    ended(uploader, data)


def stopped_and_taken_up_again():
    data = os.urandom(1_000_000)
    first = tus().uploader(file_stream=io.BytesIO(data), chunk_size=100_000)
    first.upload(stop_at=300_000)
    second = tus().uploader(file_stream=io.BytesIO(data), chunk_size=250_000, url=first.url)
    assert second.offset == 300_000
    second.upload()
    ended(second, data)


def begun_again_with_the_same_file_id():
    data = os.urandom(500_000)
    metadata = {"fileid": os.urandom(16).hex(), "install": "phone"}
    first = tus().uploader(file_stream=io.BytesIO(data), chunk_size=100_000, metadata=metadata)
    first.upload(stop_at=200_000)
    again = tus().uploader(file_stream=io.BytesIO(data), chunk_size=100_000, metadata=metadata)
    assert again.create_url() == first.url
    again.set_url(first.url)
    again.offset = again.get_offset()
    assert again.offset == 200_000
    again.upload()
    ended(again, data)


def over_a_network_that_breaks():
    data = os.urandom(1_200_000)
    network = BrokenNetwork(BASE, [sys.maxsize, 90_000, 700, 250_000, 60_000, 800, 300_000])
    uploader = tus(network.url + "/v1/uploads").uploader(
        file_stream=io.BytesIO(data), chunk_size=400_000, retries=50, retry_delay=0)
    # its look after a break may break as well, which tuspy leaves to its user
    for _ in range(50):
        try:
            if uploader.url:
                uploader.offset = uploader.get_offset()
            uploader.upload()
            break
        except (exceptions.TusCommunicationError, requests.RequestException):
            pass
    assert not network.cuts, "the network was not broken as often as it should"
    ended(uploader, data)


def asynchronously():
    data = os.urandom(600_000)
    uploader = tus().async_uploader(file_stream=io.BytesIO(data), chunk_size=200_000)
    asyncio.run(uploader.upload())
    ended(uploader, data)


def main():
    failed = 0
    for test in (in_chunks, with_checksums, stopped_and_taken_up_again,
                 begun_again_with_the_same_file_id, over_a_network_that_breaks, asynchronously):
        name = "an upload " + test.__name__.replace("_", " ")
        try:
            test()
            print("ok   ", name, file=sys.stderr)
        except Exception:  # the others still run
            failed = 1
            print("FAIL ", name, file=sys.stderr)
            traceback.print_exc()
    return failed


sys.exit(main())
