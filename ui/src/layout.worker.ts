// Lays a graph out beside the page, so that nothing stands still meanwhile.
import { clusteredLayout, type LayoutRequest } from "./layout";

addEventListener("message", (event: MessageEvent<LayoutRequest>) => {
  const positions = clusteredLayout(event.data);
  (postMessage as (message: unknown, transfer: Transferable[]) => void)(positions, [positions.buffer as ArrayBuffer]);
});
