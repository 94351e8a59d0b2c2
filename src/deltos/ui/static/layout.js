import{a as s}from"./part-HQNK6VXD.js";import"./part-K4SABGCS.js";addEventListener("message",a=>{let e=s(a.data);postMessage(e,[e.buffer])});
