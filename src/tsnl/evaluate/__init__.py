"""How good are draws, forecasts and whole methods?"""
