"""Parquet to the bucket, partitioned by station and month."""
import io
import random
import time

import boto3
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from botocore.exceptions import ClientError

BUCKET = "climate-lab-stations"


def key_for(station: int, month: str) -> str:
    return f"v2/station={station:04d}/month={month}/part-0.parquet"


def with_backoff(fn, tries: int = 5):
    for n in range(tries):
        try:
            return fn()
        except ClientError as e:
            if e.response["Error"]["Code"] not in ("SlowDown", "InternalError"):
                raise
            time.sleep(2**n + random.random())
    raise TimeoutError("object storage keeps refusing")


def upload(df: pd.DataFrame, station: int, month: str) -> int:
    buf = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(df), buf, compression="zstd")
    s3 = boto3.client("s3")
    with_backoff(lambda: s3.put_object(Bucket=BUCKET, Key=key_for(station, month), Body=buf.getvalue()))
    return buf.tell()


def prune(keep_months: int = 36) -> int:
    s3 = boto3.client("s3")
    cutoff = (pd.Timestamp.now() - pd.DateOffset(months=keep_months)).strftime("%Y-%m")
    gone = 0
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="v1/"):
        for obj in page.get("Contents", []):
            if obj["Key"].split("month=")[1][:7] < cutoff:
                s3.delete_object(Bucket=BUCKET, Key=obj["Key"])
                gone += 1
    return gone
