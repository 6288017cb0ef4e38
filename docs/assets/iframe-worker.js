// The search runs in a worker, which browsers deny to a page that was opened as a file. There a frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.loaded = new Promise((done) => {
        this.frame.addEventListener("load", () => done(this.run(url)), { once: true });
      });
      document.body.append(this.frame);
    }

    run(url) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      return new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.addEventListener("load", () => done(inside));
        inside.document.body.append(script);
      });
    }

    async postMessage(data) {
      const inside = await this.loaded;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
