// The stream of the server, opened again whenever it ends; what a page that comes later has to know is kept.

const FIRST_WAIT = 1000, LONGEST_WAIT = 10000;
// A page that is left and opened again, or a server that is started again, needs a moment.
const PATIENCE = 2500;

export class Stream {
  /** `tell` gets every message. */
  constructor(tell) {
    this.tell = tell;
    this.source = null;
    this.isDown = false;
    this.wait = FIRST_WAIT;
    this.projects = {};
    this.runs = {};
    this.timer = this.alarm = 0;
  }

  /** Tells a new page what is known, and opens the stream if it is not open. */
  greet(tell) {
    if (this.source) {
      tell({ kind: "state", projects: this.projects });
      for (const run of Object.values(this.runs)) tell(run);
      if (this.isDown) tell({ kind: "down" });
    } else this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = new EventSource("/live");
    this.source.onopen = () => this.opened();
    this.source.onmessage = ({ data }) => this.heard(JSON.parse(data));
    this.source.onerror = () => this.failed();
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.alarm);
    this.source?.close();
    this.source = null;
    this.isDown = false;
    this.alarm = 0;
  }

  opened() {
    clearTimeout(this.alarm);
    this.alarm = 0;
    this.wait = FIRST_WAIT;
    if (this.isDown) this.tell({ kind: "up" });
    this.isDown = false;
  }

  heard(message) {
    if (message.kind === "state") Object.assign(this.projects, message.projects);
    else if (message.kind === "run") this.runs[message.project] = message;
    this.tell(message);
  }

  /** The browser tries again by itself only after some failures, and as often as it likes: here it is always the same. */
  failed() {
    this.source.close();
    this.alarm ||= setTimeout(() => { this.isDown = true; this.tell({ kind: "down" }); }, PATIENCE);
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 1.5, LONGEST_WAIT);
  }
}
