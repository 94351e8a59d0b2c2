import { defineConfig } from 'vite';
import preact from '@preact/preset-vite';
import { VitePWA } from 'vite-plugin-pwa';

export default defineConfig({
  plugins: [
    preact(),
    VitePWA({
      registerType: 'autoUpdate',
      workbox: { globPatterns: ['**/*.{js,css,html,svg,woff2}'] },
      manifest: {
        name: 'Pinboard',
        short_name: 'Pinboard',
        theme_color: '#24425c',
        display: 'standalone',
      },
    }),
  ],
  server: { port: 5173, proxy: { '/api': 'http://localhost:8080' } },
  build: { sourcemap: true, target: 'es2020' },
});
