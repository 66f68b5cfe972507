/* live_assets: the files of the live page, made from live/page and the style of the exported page when tacho is built. Each
 * ends in a zero byte. */
#ifndef TACHO_LIVE_ASSETS_H
#define TACHO_LIVE_ASSETS_H

extern const char live_asset_index[];
extern const char live_asset_script[];
extern const char live_asset_style[];	   /* of the live page */
extern const char live_asset_page_style[]; /* of the exported page */
extern const char live_asset_grafana[];	   /* a dashboard for Grafana, of the series of /metrics */

#endif
