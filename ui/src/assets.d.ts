// A file that the build copies to a name derived from its content. The import returns its URL.
declare module "*.svg" {
  const address: string;
  export default address;
}
