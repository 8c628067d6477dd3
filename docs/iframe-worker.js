// Search without a server. A page that was opened from a file may start no Worker: this one runs its script in a hidden
// frame instead. The name is the one by which the theme's offline plugin knows that such a script is there already.
"use strict";

if (location.protocol === "file:") {
  const load = (page, url) =>
    new Promise((loaded) => {
      const script = page.createElement("script");
      script.addEventListener("load", loaded, { once: true });
      script.src = url;
      page.head.append(script);
    });

  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      // Before the frame is in the page: browsers differ in whether it is loaded at once.
      this.started = new Promise((loaded) => frame.addEventListener("load", loaded, { once: true })).then(async () => {
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...urls) => Promise.all(urls.map((each) => load(inside.document, each)));
        await load(inside.document, new URL(url, document.baseURI));
        return inside;
      });
      document.body.append(frame);
    }

    async postMessage(data) {
      (await this.started).dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
