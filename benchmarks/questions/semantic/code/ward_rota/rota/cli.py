import argparse
import getpass
import sys
from pathlib import Path

import yaml

from . import export, notify, solver, store
from .loader import load_nurses, load_shifts


def main(argv=None) -> int:
    p = argparse.ArgumentParser(prog="rota")
    p.add_argument("command", choices=["plan", "publish", "csv"])
    p.add_argument("--month", required=True)
    p.add_argument("--ward", required=True)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(argv)

    cfg = yaml.safe_load(Path("config/ward.yaml").read_text())
    nurses = load_nurses(args.ward)
    shifts = load_shifts(cfg, args.month)
    try:
        plan = solver.build(nurses, shifts, args.seed)
    except solver.Understaffed as e:
        print(f"cannot plan: {e}", file=sys.stderr)
        return 2
    with store.connect(Path(f"{args.ward}.db")) as con:
        store.save_plan(con, plan)
        store.record(con, getpass.getuser(), f"{args.command} {args.month}")
    if args.command == "csv":
        print(export.to_csv(plan))
    elif args.command == "publish":
        mails = [notify.compose(n, plan, args.month) for n in nurses]
        bounced = notify.deliver(mails, **cfg["mail"])
        for b in bounced:
            print("not delivered:", b, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
