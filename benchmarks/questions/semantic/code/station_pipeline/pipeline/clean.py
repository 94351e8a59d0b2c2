"""Quality control. Every check sets bits in the ``flag`` column, nothing is dropped."""
import numpy as np
import pandas as pd

RANGE, SPIKE, STUCK = 1, 2, 4

LIMITS = {
    "temp": (-50, 55),
    "humidity": (0, 100),
    "pressure": (850, 1080),
    "wind_speed": (0, 75),
}


def check_range(df: pd.DataFrame) -> pd.DataFrame:
    for col, (lo, hi) in LIMITS.items():
        df.loc[~df[col].between(lo, hi), "flag"] |= RANGE
    return df


def check_spikes(df: pd.DataFrame, col: str = "temp", k: float = 6.0) -> pd.DataFrame:
    """Hampel filter: distance to the rolling median in units of MAD."""
    med = df[col].rolling(11, center=True, min_periods=5).median()
    mad = (df[col] - med).abs().rolling(11, center=True, min_periods=5).median()
    df.loc[(df[col] - med).abs() > k * 1.4826 * mad.clip(lower=0.05), "flag"] |= SPIKE
    return df


def check_stuck(df: pd.DataFrame, col: str = "temp", n: int = 18) -> pd.DataFrame:
    same = df[col].diff().eq(0)
    run = same.groupby((~same).cumsum()).cumsum()
    df.loc[run >= n, "flag"] |= STUCK
    return df


def fill_short_gaps(s: pd.Series, limit: int = 3) -> pd.Series:
    return s.interpolate("time", limit=limit, limit_area="inside")


def unwrap_counter(ticks: pd.Series, bits: int = 16) -> pd.Series:
    # tipping bucket counter overflows at 65536
    step = np.diff(ticks, prepend=ticks.iloc[0])
    return pd.Series(np.where(step < 0, step + 2**bits, step), index=ticks.index)
