import pandas as pd

from .derive import MM_PER_TICK, mean_direction

MIN_COVERAGE = 0.75


def hourly(df: pd.DataFrame) -> pd.DataFrame:
    ok = df[df.flag == 0]
    g = ok.groupby(pd.Grouper(freq="1h"))
    out = g.agg(
        temp=("temp", "mean"),
        temp_min=("temp", "min"),
        temp_max=("temp", "max"),
        gust=("wind_speed", "max"),
        n=("temp", "size"),
    )
    out["rain_mm"] = g["tips"].sum() * MM_PER_TICK
    out["wind_dir"] = g.apply(lambda x: mean_direction(x.wind_dir, x.wind_speed))
    return blank_sparse(out, expected=6)


def blank_sparse(out: pd.DataFrame, expected: int) -> pd.DataFrame:
    """Too few samples in a bucket: publish NaN rather than something misleading."""
    out.loc[out.n < MIN_COVERAGE * expected, out.columns.difference(["n"])] = float("nan")
    return out


def growing_degree_days(daily: pd.DataFrame, base: float = 10.0) -> pd.Series:
    mean = (daily.temp_max + daily.temp_min) / 2
    return (mean - base).clip(lower=0).cumsum()
