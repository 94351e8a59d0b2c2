import numpy as np
import pandas as pd

MM_PER_TICK = 0.2


def dew_point(t, rh):
    """Magnus formula."""
    a, b = 17.62, 243.12
    g = np.log(rh / 100) + a * t / (b + t)
    return b * g / (a - g)


def wind_chill(t, v_ms):
    v = v_ms * 3.6
    felt = 13.12 + 0.6215 * t - 11.37 * v**0.16 + 0.3965 * t * v**0.16
    return np.where((t <= 10) & (v > 4.8), felt, t)


def sea_level_pressure(p, t, altitude):
    return p * (1 - 0.0065 * altitude / (t + 0.0065 * altitude + 273.15)) ** -5.257


def mean_direction(deg, speed):
    """Vector mean, because 350 and 10 average to north and not to south."""
    rad = np.deg2rad(deg)
    u, v = -(speed * np.sin(rad)).mean(), -(speed * np.cos(rad)).mean()
    return (np.rad2deg(np.arctan2(u, v)) + 180) % 360


def add_all(df: pd.DataFrame, altitude: float) -> pd.DataFrame:
    df["dew_point"] = dew_point(df.temp, df.humidity)
    df["wind_chill"] = wind_chill(df.temp, df.wind_speed)
    df["slp"] = sea_level_pressure(df.pressure, df.temp, altitude)
    return df
