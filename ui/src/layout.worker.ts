// Web worker that computes layouts, so that the page stays responsive.
import { clusteredLayout } from "./layout";
import type { NumberedRequest } from "./layouts";

addEventListener("message", ({ data }: MessageEvent<NumberedRequest>) => {
  const positions = clusteredLayout(data);
  (postMessage as (message: unknown, transfer: Transferable[]) => void)({ number: data.number, positions }, [positions.buffer as ArrayBuffer]);
});
