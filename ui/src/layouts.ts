// Requests layouts from the worker and assigns its answers to requests.
import type { LayoutRequest } from "./layout";

export interface NumberedRequest extends LayoutRequest {
  number: number;
}

export interface NumberedLayout {
  number: number;
  positions: Float32Array;
}

/** The used part of the Worker interface. */
interface Port {
  postMessage(message: NumberedRequest): void;
  onmessage: ((event: MessageEvent<NumberedLayout>) => void) | null;
}

interface Waiting {
  resolve: (positions: Float32Array) => void;
  reject: (error: Error) => void;
}

export class Layouts {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  constructor(private readonly port: Port) {
    port.onmessage = ({ data }) => {
      this.waiting.get(data.number)?.resolve(data.positions);
      this.waiting.delete(data.number);
    };
  }

  /** Return positions x, y, x, y …; concurrent requests are possible. */
  ask(request: LayoutRequest): Promise<Float32Array> {
    this.asked += 1;
    const number = this.asked;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.port.postMessage({ ...request, number });
    });
  }

  /** Reject all pending requests. */
  fail(message: string): void {
    for (const each of this.waiting.values()) each.reject(new Error(message));
    this.waiting.clear();
  }
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (text: string) => string }): { createScriptURL(text: string): string };
}
let layouts: Layouts | undefined;

/** Compute a layout in the shared worker. */
export function layOutInWorker(request: LayoutRequest): Promise<Float32Array> {
  if (!layouts) {
    const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const place = "/static/layout.js";
    const url = types ? types.createPolicy("deltos-worker", { createScriptURL: () => place }).createScriptURL(place) : place;
    const worker = new Worker(url, { type: "module" });
    const own = new Layouts(worker);
    worker.onerror = (event) => own.fail(event.message);
    layouts = own;
  }
  return layouts.ask(request);
}
