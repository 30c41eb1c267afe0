// One stream of live events for all tabs: a browser allows six connections to a server, and a stream holds one.
// Pages say "here" with a port when they open and "gone" when they are left.
import { Stream } from "./live-stream.js";

const ports = new Set();
const stream = new Stream((message) => { for (const port of ports) port.postMessage(message); });

onconnect = (event) => {
  const port = event.ports[0];
  const leave = () => { if (ports.delete(port) && !ports.size) stream.close(); };
  port.onmessage = ({ data }) => {
    if (data === "gone") leave();
    else if (data === "here" && !ports.has(port)) {
      ports.add(port);
      stream.greet((message) => port.postMessage(message));
    }
  };
  port.onclose = leave; // where browsers tell it: a tab that has crashed
};
